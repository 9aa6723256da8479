import { expect, test } from 'vitest';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import type { Said, ScriptedServer } from '../testing/scripted-server.ts';
import { RawSession, answerOf, postModern, readEvents } from '../testing/test-proxy.ts';

const discovered = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
};
const both = { 'server/discover': () => discovered };
const onlyModern = {
  ...both,
  initialize: (server: ScriptedServer, { id }: Said) =>
    server.send({ id, error: { code: -32022, message: 'only 2026-07-28' } }),
};

const sampling = { protocolVersion: '2025-11-25', capabilities: { sampling: {} } };
const question = { method: 'sampling/createMessage', params: { messages: [] } };

test('a server of both generations asks a legacy client as legacy servers do, and serves modern clients too', async () => {
  await using opened = await openScriptedProxy({}, both);
  const session = await RawSession.open(opened.url, sampling);

  const events = readEvents(await session.postCall(7, 'ask', question));
  const { value: asked } = await events.next();
  await session.post({ id: asked?.id, result: { model: 'm' } });
  const { value: answer } = await events.next();
  const modern = await answerOf(await postModern(opened.url, 'tools/list'));

  expect(asked).toMatchObject({ method: 'sampling/createMessage' });
  expect(JSON.stringify(answer)).toContain('model');
  expect(modern.result?.['tools']).not.toEqual([]);
});

test('sessions with such a server have processes of their own', async () => {
  await using opened = await openScriptedProxy({}, both);
  const [one, two] = await Promise.all([RawSession.open(opened.url), RawSession.open(opened.url)]);

  await one.call('remember', { value: 'secret' });

  expect([await one.call('recall'), await two.call('recall')]).toEqual(['secret', '']);
});

test('a single client of such a server causes no process for a next client', async () => {
  await using opened = await openScriptedProxy({}, both);
  const session = await RawSession.open(opened.url);

  await session.call('remember', { value: 'seen' });
  await session.call('recall');

  // The first process, the one that showed that legacy clients are supported, and the one of the session.
  expect(opened.servers).toHaveLength(3);
});

test('a server that supports only modern clients is asked once whether it supports others', async () => {
  await using opened = await openScriptedProxy({}, onlyModern);
  const [one, two] = await Promise.all([RawSession.open(opened.url), RawSession.open(opened.url)]);

  await one.call('remember', { value: 'seen' });

  expect(await two.call('recall')).toBe('seen'); // one process serves both
  expect(
    opened.servers.flatMap(({ methods }) => methods).filter((method) => method === 'initialize'),
  ).toHaveLength(1);
});

test('a server whose state is shared is only used as a modern one', async () => {
  await using opened = await openScriptedProxy({ sessions: 'shared' }, both);
  const session = await RawSession.open(opened.url);

  await session.call('remember', { value: 'seen' });

  expect(opened.servers).toHaveLength(1);
  expect(opened.servers[0]?.methods).not.toContain('initialize');
});
