import { expect, test } from 'vitest';
import { openTestApi } from './testing/test-api.ts';

const base = '/api/v1beta';

test.each([
  ['GET', `${base}/skills`, 'manages client skills'],
  ['POST', `${base}/skills/builds`, 'manages client skills'],
  ['GET', `${base}/plugins`, 'manages client plugins'],
  ['POST', `${base}/registry/auth/login`, 'signs in to a registry'],
  ['POST', `${base}/registry/default/refresh`, 'reads the registry again'],
  ['GET', '/registry/default/v0.1/servers', 'use /api/registry/v0.1/servers'],
  ['GET', '/registry/default/v0.1/x/dev.toolhive/skills', 'lists skills or plugins'],
  [
    'GET',
    `${base}/workloads/upgrade-check?all=true`,
    `newer_version of each workload in GET ${base}/workloads`,
  ],
  ['GET', `${base}/workloads/fetch/upgrade-check`, `use GET ${base}/workloads/{name}/update`],
])('%s %s of later versions of the original is answered with the route here', async (method, path, hint) => {
  await using api = await openTestApi();

  const headers = { 'content-type': 'application/json', accept: 'application/problem+json' };
  const { status, text } = await api.send(method, path, headers, method === 'POST' ? '{}' : undefined);

  expect(status).toBe(404);
  expect(JSON.parse(text)).toMatchObject({
    kind: 'not-found',
    hint: expect.stringContaining(hint) as string,
  });
});

test('a path that no version knows has no hint', async () => {
  await using api = await openTestApi();

  const { status, text } = await api.get(`${base}/skill`);

  expect([status, text]).toEqual([404, `${base}/skill not found\n`]);
});
