import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aWorkload, openTestApi } from '@toolhive/api/testing';

test('a check tells what a request would create, and leaves nothing behind', async () => {
  await using api = await openTestApi();
  await api.run('present');

  const checked = await api.client.checkWorkload({ body: { ...aWorkload({ name: 'later' }) }, query: {} });
  const taken = await api.post('/api/v1beta/workloads/check', aWorkload({ name: 'present' }));
  const edited = await api.client.checkWorkload({
    body: { ...aWorkload({ name: undefined }) },
    query: { edit: 'present' },
  });
  const dangerous = await api.client.checkWorkload({
    body: { ...aWorkload({ name: 'later', network_mode: 'host' }) },
    query: {},
  });
  const wrong = await api.post('/api/v1beta/workloads/check', aWorkload({ group: 'no-such-group' }));

  expect(checked).toMatchObject({ name: 'later', remote: false, risks: [], permissions: { mounts: [] } });
  expect(taken.status).toBe(409);
  expect(edited.name).toBe('present');
  expect(dangerous.risks.map(({ risk }) => risk)).toEqual(['host-network']);
  expect(wrong.status).toBe(404);
  const { workloads } = await api.client.listWorkloads({ query: { all: 'true' } });
  expect(workloads.map(({ name }) => name)).toEqual(['present']);
});

test('a document to import is translated without the variables and files of the daemon', async () => {
  await using api = await openTestApi({}, { env: { DAEMON_KEY: 'of-the-daemon' } });
  const servers = {
    time: { command: 'uvx', args: ['mcp-server-time'], env: { KEY: '${env:DAEMON_KEY}' } },
    file: { command: 'docker', args: ['run', '-i', '--env-file', '/etc/passwd', 'mcp/time'] },
    broken: { command: 42 },
  };

  const preview = await api.client.previewImport({
    body: { document: JSON.stringify({ mcpServers: servers }) },
  });

  const byName = new Map(preview.servers.map((server) => [server.name, server]));
  expect(byName.get('time')?.request).toMatchObject({ image: 'uvx://mcp-server-time' });
  expect(byName.get('file')).toMatchObject({
    problem: 'environment files are not supported here',
    hint: 'add its variables to the server',
  });
  expect(byName.get('broken')?.problem).toBeDefined();
  expect(JSON.stringify(preview)).not.toMatch(/of-the-daemon|root:/);
  expect((await api.client.listWorkloads({ query: { all: 'true' } })).workloads).toEqual([]);
});

test('the preview of a client file shows our entries only, and no other keys', async () => {
  await using api = await openTestApi();
  const path = join(api.home, '.cursor', 'mcp.json');
  const before = JSON.stringify({
    mcpServers: {
      foreign: { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer foreign-key' } },
    },
  });
  await mkdir(join(api.home, '.cursor'), { recursive: true });
  await writeFile(path, before);
  await api.run('ours');

  const preview = await api.client.previewClient({ params: { name: 'cursor' }, query: {} });
  const written = await readFile(path, 'utf8');
  await api.client.createClient({ body: { name: 'cursor' } });
  const after = JSON.parse(await readFile(path, 'utf8')) as { mcpServers: Record<string, object> };
  const withKey = {
    ...after.mcpServers['ours'],
    headers: { Authorization: 'Bearer added-key' },
    url: 'changed',
  };
  await writeFile(path, JSON.stringify({ mcpServers: { ...after.mcpServers, ours: withKey } }));
  const again = await api.client.previewClient({ params: { name: 'cursor' }, query: {} });

  expect(preview).toMatchObject({ path, exists: true, changes: [{ workload: 'ours', action: 'add' }] });
  expect(preview.diff).toContain('+ "ours": {');
  expect(written).toBe(before);
  expect(JSON.stringify([preview, again])).not.toMatch(/foreign|added-key/);
});
