import { describe, expect, test } from 'vitest';
import type { ProxyOptions } from './proxy.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
import type { ScriptedProxy, ScriptedServer } from './testing/scripted-server.ts';
import { RawSession, answerOf, postModern, readEvents } from './testing/test-proxy.ts';

const quick = { interval: 5 };
const limits = { restMs: 0, maintenanceMs: 5 };

/** Opens a proxy whose first process may rest at once. */
function open(
  changes: Partial<ProxyOptions> = {},
  manners: ScriptedServer['manners'] = {},
): Promise<ScriptedProxy> {
  return openScriptedProxy({ limits, ...changes }, manners, { rests: true });
}

/** A session with a process, while the first one rests. */
async function openResting(test: ScriptedProxy): Promise<{ session: RawSession; own: ScriptedServer }> {
  const session = await RawSession.open(test.url);
  const own = await test.serverOf(session);
  await expect.poll(() => test.running, quick).toEqual([own.id]);
  return { session, own };
}

const list = async (session: RawSession): Promise<unknown> =>
  (await answerOf(await session.post({ id: 'l', method: 'tools/list' }))).result?.['tools'];

describe('the process that all clients share', () => {
  test('ends while a session has a process, and runs again when no session has one', async () => {
    await using test = await open();
    const { session } = await openResting(test);

    await (await session.end()).text();

    await expect.poll(() => test.running, quick).toEqual(['s2']);
    await expect
      .poll(() => test.servers[2]?.methods, quick)
      .toEqual(['initialize', 'notifications/initialized']);
    expect([test.excesses, test.faults]).toEqual([[], []]);
  });

  test('runs again when the only process of a session has ended unexpectedly', async () => {
    await using test = await open();
    const { session, own } = await openResting(test);

    own.exit();

    await expect.poll(() => test.running, quick).toHaveLength(1);
    expect(await session.call('instance')).not.toBe(own.id);
    expect(test.excesses).toEqual([]);
  });

  test('stays until it has been without a request for a while', async () => {
    await using test = await open({ limits: { ...limits, restMs: 3_600_000 } });
    const session = await RawSession.open(test.url);

    await session.call('instance');
    await session.call('instance');

    expect(test.running).toContain('s0');
  });

  test('does not end while it works on a request', async () => {
    await using test = await open({}, { 'tools/list': undefined });
    const lister = await RawSession.open(test.url);
    const listed = lister.post({ id: 1, method: 'tools/list' });
    await expect.poll(() => test.servers[0]?.last('tools/list'), quick).toBeDefined();
    const session = await RawSession.open(test.url);
    await session.call('instance');
    await session.call('instance');
    expect(test.running).toContain('s0');

    test.servers[0]?.send({ id: test.servers[0].last('tools/list')?.id, result: { tools: [] } });

    expect((await answerOf(await listed)).result).toEqual({ tools: [] });
    await expect.poll(() => test.running, quick).not.toContain('s0');
  });

  test('never ends with `sessions: shared`', async () => {
    await using test = await open({ sessions: 'shared' });
    const session = await RawSession.open(test.url);

    expect(await session.call('instance')).toBe('s0');
    await list(session);

    expect(test.running).toEqual(['s0']);
  });
});

describe('while that process rests', () => {
  test('a session begins without it, and a list starts it with a handshake', async () => {
    await using test = await open();
    const { session: first } = await openResting(test);
    const another = await RawSession.open(test.url);
    expect(test.running).not.toContain('s0');

    const tools = await list(another);

    expect(tools).toHaveLength(6);
    const [asked] = test.servers.filter((server) => server.last('tools/list') !== undefined);
    expect(asked?.methods).toEqual(['initialize', 'notifications/initialized', 'tools/list']);
    expect(asked?.last('initialize')?.params).toMatchObject({
      capabilities: {},
      clientInfo: { name: 'toolhive' },
    });
    expect(await first.call('instance')).toBe('s1');
  });

  test('every one of many lists is answered, however often it starts and ends', async () => {
    await using test = await open();
    await openResting(test);
    const sessions = await Promise.all(Array.from({ length: 20 }, () => RawSession.open(test.url)));

    const lists: unknown[] = [];
    for (const session of sessions) {
      lists.push(await list(session), ...(await Promise.all([list(session), list(session)])));
    }

    expect(lists.every((tools) => Array.isArray(tools) && tools.length === 6)).toBe(true);
    expect([test.excesses, test.faults]).toEqual([[], []]);
  });

  test('a client that listens to changes starts it, and hears of them', async () => {
    await using test = await open();
    await openResting(test);
    const over = new AbortController();

    const stream = await postModern(
      test.url,
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { signal: over.signal },
    );
    const events = readEvents(stream);
    await events.next();
    await expect.poll(() => test.running, quick).toHaveLength(2);
    await expect.poll(() => test.servers[2]?.methods, quick).toContain('notifications/initialized');
    test.servers[2]?.send({ method: 'notifications/tools/list_changed' });

    const { value } = await events.next();
    expect(value).toMatchObject({ method: 'notifications/tools/list_changed' });
    expect(test.running).toHaveLength(2);
    over.abort();
  });

  test('its subscriptions are made again when it starts', async () => {
    await using test = await open();
    await openResting(test);
    const over = new AbortController();

    const wanted = { resourceSubscriptions: ['test://one'] };
    await postModern(test.url, 'subscriptions/listen', { notifications: wanted }, { signal: over.signal });

    await expect
      .poll(() => test.servers[2]?.last('resources/subscribe')?.params, quick)
      .toMatchObject({ uri: 'test://one' });
    over.abort();
  });
});

describe('if that process cannot start again', () => {
  /** Servers that do not accept a handshake after a while. */
  function failing(): { fail: () => void; manners: ScriptedServer['manners'] } {
    let fails = false;
    return {
      fail: () => (fails = true),
      manners: {
        initialize(server, { params }) {
          if (!fails)
            return {
              protocolVersion: params?.['protocolVersion'],
              capabilities: { tools: {} },
              serverInfo: {},
            };
          server.exit();
          return undefined;
        },
      },
    };
  }

  test('a request is refused with the reason, and sessions go on', async () => {
    const { fail, manners } = failing();
    await using test = await open({}, manners);
    const { session, own } = await openResting(test);
    const another = await RawSession.open(test.url);
    fail();

    const { error } = await answerOf(await another.post({ id: 1, method: 'tools/list' }));

    expect(error?.message).toMatch(/^the server could not be started again: .*exited with code 1/);
    expect(await session.call('instance')).toBe(own.id);
    expect(test.excesses).toEqual([]);
  });

  test('the workload fails with the reason when no session has a process', async () => {
    const { fail, manners } = failing();
    await using test = await open({}, manners);
    const { session } = await openResting(test);
    fail();

    await (await session.end()).text();

    await expect
      .poll(() => test.excesses, quick)
      .toEqual([expect.stringMatching(/^could not be started again: /)]);
  });
});

test('the workload fails if the process has ended unexpectedly after it started again', async () => {
  await using test = await open();
  const { session } = await openResting(test);
  await (await session.end()).text();
  await expect.poll(() => test.servers[2]?.methods, quick).toContain('notifications/initialized');
  await expect.poll(async () => (await postModern(test.url, 'tools/list')).status, quick).toBe(200);

  test.servers[2]?.exit({ code: 3, signal: null });

  await expect.poll(() => test.excesses, quick).toEqual(['exited with code 3']);
});

test('no process remains if the workload is stopped while that process starts', async () => {
  const test = await open({}, {});
  const { session } = await openResting(test);
  for (const server of test.servers) server.manners['initialize'] = undefined;
  await (await session.end()).text();
  await expect.poll(() => test.servers, quick).toHaveLength(3);

  await test.proxy[Symbol.asyncDispose]();

  expect(test.running).toEqual([]);
  await test[Symbol.asyncDispose]();
});
