import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ProxyOptions } from './proxy.ts';
import { openScriptedProxy } from './testing/scripted-server.ts';
import type { ScriptedProxy, ScriptedServer } from './testing/scripted-server.ts';
import { RawSession, answerOf, postModern, readEvents } from './testing/test-proxy.ts';

const quick = { interval: 5 };
const askable = { protocolVersion: '2025-11-25', capabilities: { sampling: {}, roots: {} } };
const question = { method: 'sampling/createMessage', params: { messages: [] } };
const withSeparate = 'a process for each session, because ';

const readOnlyTool = (name: string): object => ({
  name,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
});
const readOnlyTools = ['instance', 'remember', 'recall', 'hold', 'say', 'ask'].map(readOnlyTool);
const readOnly: ScriptedServer['manners'] = { 'tools/list': () => ({ tools: readOnlyTools }) };

/** Opens a proxy whose server declares all its tools as read-only. */
function openReadOnly(
  changes: Partial<ProxyOptions> = {},
  manners: ScriptedServer['manners'] = {},
): Promise<ScriptedProxy> {
  return openScriptedProxy({ sessions: 'auto', ...changes }, { ...readOnly, ...manners });
}

/** What `auto` remembers between runs. */
function memory(sign?: 'asked' | 'subscribed' | 'changed' | 'level') {
  const seen: string[] = [];
  const signOf = (): string | undefined => sign;
  return { seen, knownState: { signOf, seen: (_version: string, one: string) => void seen.push(one) } };
}

const open = (test: ScriptedProxy, client: object = askable): Promise<RawSession> =>
  RawSession.open(test.url, client);

/** Two sessions that share a process. */
async function openTwo(test: ScriptedProxy): Promise<[RawSession, RawSession, ScriptedServer]> {
  const [one, two] = [await open(test), await open(test)];
  const server = await test.serverOf(one);
  expect(await two.call('instance')).toBe(server.id);
  return [one, two, server];
}

describe('sessions with a server whose tools are all read-only', () => {
  test('share one process, besides the first one, which takes no calls', async () => {
    await using test = await openReadOnly();
    const sessions = await Promise.all(Array.from({ length: 40 }, () => open(test)));

    const instances = await Promise.all(sessions.map((session) => session.call('instance')));

    expect(new Set(instances)).toEqual(new Set(['s1']));
    expect(test.running).toEqual(['s0', 's1']);
    expect(test.proxy.sharing).toBe('sessions share a process, because all its tools are read-only');
    expect(test.proxy.sessions().every(({ process }) => process === 'shared')).toBe(true);
    expect(test.faults).toEqual([]);
  });

  test('start no process with their first call if one runs', async () => {
    await using test = await openReadOnly();
    const [first] = [await open(test)];
    await first.call('instance');
    const before = test.servers.length;

    const second = await open(test);
    await (await second.post({ id: 1, method: 'tools/list' })).text();
    await second.call('instance');

    expect(test.servers).toHaveLength(before);
  });

  test('get a process that knows what their client can do, so other clients get another one', async () => {
    await using test = await openReadOnly();
    const [one, two] = [await open(test), await open(test, { capabilities: { elicitation: {} } })];

    const [first, second] = [await test.serverOf(one), await test.serverOf(two)];

    expect(first).not.toBe(second);
    const told = [first, second].map((server) => server.last('initialize')?.params?.['capabilities']);
    expect(told).toEqual([askable.capabilities, { elicitation: {} }]);
  });

  test('get progress and answers of their own calls, and end only these', async () => {
    await using test = await openReadOnly();
    const [one, two, server] = await openTwo(test);
    const held = two.postCall(5, 'hold');
    await expect.poll(() => server.last('tools/call')?.params?.name, quick).toBe('hold');
    const call = server.last('tools/call');
    await (await one.end()).text();

    server.send({ id: call?.id, result: { content: [{ type: 'text', text: 'late' }] } });

    expect(await answerOf(await held)).toMatchObject({ id: 5, result: { content: [{ text: 'late' }] } });
    expect(server.methods).not.toContain('notifications/cancelled');
    expect(await two.call('instance')).toBe(server.id);
  });

  test('that end cancel their calls in the shared process', async () => {
    await using test = await openReadOnly();
    const [one, two, server] = await openTwo(test);
    const held = one.postCall(5, 'hold');
    await expect.poll(() => server.last('tools/call')?.params?.name, quick).toBe('hold');

    await (await one.end()).text();

    await expect.poll(() => server.methods, quick).toContain('notifications/cancelled');
    await (await held).text();
    expect(await two.call('instance')).toBe(server.id);
  });

  test('continue with another process after theirs has ended', async () => {
    await using test = await openReadOnly();
    const [one, two, server] = await openTwo(test);
    const held = one.postCall(5, 'hold');
    await expect.poll(() => server.last('tools/call')?.params?.name, quick).toBe('hold');

    server.exit();

    expect((await answerOf(await held)).error?.message).toContain('ended before answering');
    const [first, second] = [await one.call('instance'), await two.call('instance')];
    expect(first).not.toBe(server.id);
    expect(second).toBe(first);
  });
});

describe('sessions share no process', () => {
  test.each([
    [
      'some tools are not read-only',
      { tools: [readOnlyTool('instance'), { name: 'recall' }] },
      'not all its tools are read-only',
    ],
    [
      'the annotation is not the boolean',
      { tools: [{ name: 'instance', annotations: { readOnlyHint: 'true' } }] },
      'not all its tools are read-only',
    ],
    ['there are no tools', { tools: [] }, 'it has no tools'],
    ['the list is not one', { tools: 'none' }, 'it has no tools'],
    [
      'the list has no end',
      {
        tools: [readOnlyTool('instance')],
        get nextCursor() {
          return String(Math.random());
        },
      },
      'it has too many tools',
    ],
    [
      'there are too many tools',
      { tools: Array.from({ length: 1001 }, (_, n) => readOnlyTool(`t${n}`)) },
      'it has too many tools',
    ],
  ])('if %s', async (_when, list, why) => {
    await using test = await openReadOnly(
      {},
      { 'tools/list': () => ({ ...list, nextCursor: (list as { nextCursor?: string }).nextCursor }) },
    );
    const [one, two] = [await open(test), await open(test)];

    const instances = [await one.call('instance'), await two.call('instance')];

    expect(instances[0]).not.toBe(instances[1]);
    expect(test.proxy.sharing).toBe(withSeparate + why);
  });

  test('if the tools cannot be listed in time', async () => {
    const limits = { decideMs: 20 };
    await using test = await openReadOnly({ limits }, { 'tools/list': undefined });
    const [one, two] = [await open(test), await open(test)];

    const instances = [await one.call('instance'), await two.call('instance')];

    expect(instances[0]).not.toBe(instances[1]);
    expect(test.proxy.sharing).toBe(`${withSeparate}it has not listed its tools`);
  });

  test('if the server runs tasks', async () => {
    const initialize = () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, tasks: {} },
      serverInfo: { name: 'tasks', version: '1' },
    });
    await using test = await openReadOnly({}, { initialize });
    const [one, two] = [await open(test), await open(test)];

    expect(await one.call('instance')).not.toBe(await two.call('instance'));
    expect(test.proxy.sharing).toBe(`${withSeparate}it runs tasks for its clients`);
  });

  test('if they belong to different principals, whatever the server says', async () => {
    const check = async (authorization = '') => ({ id: authorization });
    await using test = await openReadOnly({ access: { check } });
    const as = async (who: string): Promise<RawSession> => {
      const session = new (class extends RawSession {
        override headers(): Record<string, string> {
          return { ...super.headers(), authorization: who };
        }
      })(test.url);
      const response = await session.post({ id: 0, method: 'initialize', params: askable });
      session.id = response.headers.get('mcp-session-id') ?? '';
      await response.body?.cancel();
      return session;
    };
    const sessions = [await as('alice'), await as('alice'), await as('bob')];

    const [one, two, other] = await Promise.all(sessions.map((session) => session.call('instance')));

    expect(two).toBe(one);
    expect(other).not.toBe(one);
  });

  test('if nothing tells the users apart who come from elsewhere', async () => {
    await using test = await openReadOnly({ trustProxyHeaders: true });
    const [one, two] = [await open(test), await open(test)];

    expect(await one.call('instance')).not.toBe(await two.call('instance'));
    expect(test.proxy.sharing).toBe(`${withSeparate}nothing tells its users apart`);
  });

  test('if the server lists other tools for their kind of client', async () => {
    const list = (server: ScriptedServer): object => {
      const capabilities = server.last('initialize')?.params?.['capabilities'] as object;
      const more = 'sampling' in capabilities ? [{ name: 'write' }] : [];
      return { tools: [...readOnlyTools, ...more] };
    };
    await using test = await openReadOnly({}, { 'tools/list': list });
    const [one, two] = [await open(test), await open(test)];

    expect(await one.call('instance')).not.toBe(await two.call('instance'));
    expect(test.proxy.sharing).toBe(`${withSeparate}not all its tools are read-only`);
  });

  test('if an earlier run has shown that the server keeps something', async () => {
    await using test = await openReadOnly(memory('subscribed'));
    const [one, two] = [await open(test), await open(test)];

    expect(await one.call('instance')).not.toBe(await two.call('instance'));
    expect(test.proxy.sharing).toBe(`${withSeparate}a client subscribed to a resource`);
  });
});

describe('a server that turns out to keep something', () => {
  test('asks the client whose call is the only one, and shares no further process', async () => {
    const { seen, knownState } = memory();
    await using test = await openReadOnly({ knownState });
    const [one, two, server] = await openTwo(test);

    const events = readEvents(await one.postCall(7, 'ask', question));
    const { value: asked } = await events.next();
    await one.post({ id: asked.id, result: { from: 'one' } });

    expect((await events.next()).value).toMatchObject({ result: { content: [{ text: '{"from":"one"}' }] } });
    expect(await two.call('instance')).toBe(server.id);
    expect(await (await open(test)).call('instance')).not.toBe(server.id);
    expect(seen).toEqual(['asked']);
    expect(test.proxy.sharing).toBe(`${withSeparate}the server asked its client for input`);
  });

  test('gets an error with the reason if several clients could be meant', async () => {
    await using test = await openReadOnly();
    const [one, two, server] = await openTwo(test);
    const held = one.postCall(5, 'hold');
    await expect.poll(() => server.last('tools/call')?.params?.name, quick).toBe('hold');

    const answer = await two.call('ask', question);

    expect(answer).toContain('ToolHive does not know which client to ask');
    server.send({ id: server.heard.find(({ params }) => params?.name === 'hold')?.id, result: {} });
    expect((await answerOf(await held)).result).toEqual({});
    const [again, third] = [await open(test), await open(test)];
    expect(await again.call('instance')).not.toBe(await third.call('instance'));
  });

  test('asks every client in a process of its own if it asks at the start', async () => {
    const initialize = (server: ScriptedServer, message: { params?: Record<string, unknown> }) => {
      setImmediate(() => server.send({ id: 'roots', method: 'roots/list' }));
      return {
        protocolVersion: message.params?.['protocolVersion'],
        capabilities: { tools: {} },
        serverInfo: { name: 'curious', version: '1' },
      };
    };
    await using test = await openReadOnly({}, { initialize });
    const [one, two] = [await open(test), await open(test)];

    const [first, second] = [await test.serverOf(one), await test.serverOf(two)];

    expect(first).not.toBe(second);
    expect(test.proxy.sharing).toBe(`${withSeparate}the server asked its client for input`);
  });

  test.each([
    ['subscribes to a resource', 'resources/subscribe', { uri: 'test://one' }, 'subscribed'],
    ['chooses a log level', 'logging/setLevel', { level: 'debug' }, 'level'],
  ])('gives a session that %s a process of its own', async (_what, method, params, sign) => {
    const { seen, knownState } = memory();
    await using test = await openReadOnly({ knownState });
    const [one, two, server] = await openTwo(test);

    expect(await answerOf(await one.post({ id: 3, method, params }))).toMatchObject({ id: 3, result: {} });

    const own = await test.serverOf(one);
    expect(own).not.toBe(server);
    expect(own.methods).toContain(method);
    expect(server.methods).not.toContain(method);
    expect(await two.call('instance')).toBe(server.id);
    expect(await (await open(test)).call('instance')).not.toBe(server.id);
    expect(seen).toEqual([sign]);
  });

  test('is not recognized by a request that it does not offer', async () => {
    const { seen, knownState } = memory();
    const initialize = () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: {} },
      serverInfo: { name: 'plain', version: '1' },
    });
    await using test = await openReadOnly({ knownState }, { initialize });
    const [one, two, server] = await openTwo(test);

    await (await one.post({ id: 3, method: 'resources/subscribe', params: { uri: 'test://one' } })).text();
    await (await one.post({ id: 4, method: 'logging/setLevel', params: { level: 'debug' } })).text();

    expect([await one.call('instance'), await two.call('instance')]).toEqual([server.id, server.id]);
    expect(seen).toEqual([]);
  });

  test('tells all sessions of its process that a list has changed', async () => {
    const { seen, knownState } = memory();
    await using test = await openReadOnly({ knownState });
    const [one, two, server] = await openTwo(test);
    await using heardByOne = await one.listen();
    await using heardByTwo = await two.listen();

    server.send({ method: 'notifications/tools/list_changed' });

    const heard = [await heardByOne.next(), await heardByTwo.next()];
    expect(heard.map(({ value }) => value.method)).toEqual(Array(2).fill('notifications/tools/list_changed'));
    expect([await one.call('instance'), await two.call('instance')]).toEqual([server.id, server.id]);
    expect(await (await open(test)).call('instance')).not.toBe(server.id);
    expect(seen).toEqual(['changed']);
  });

  test('is recognized by a list with another tool than before', async () => {
    const { seen, knownState } = memory();
    await using test = await openReadOnly({ knownState });
    const [one, , server] = await openTwo(test);
    server.manners['tools/list'] = () => ({ tools: [...readOnlyTools, readOnlyTool('more')] });

    await (await one.post({ id: 3, method: 'tools/list' })).text();

    expect(seen).toEqual(['changed']);
  });

  test('is another server if its version is another one', async () => {
    await using test = await openReadOnly();
    const [one] = await openTwo(test);
    await (await one.post({ id: 3, method: 'logging/setLevel', params: { level: 'debug' } })).text();

    test.proxy.disconnect('it is upgraded', false);
    const { stdio } = await test.start();
    const start = (): Promise<ScriptedServer> => test.start();
    await test.proxy.connect({ stdio, version: '2' }, start, new AbortController().signal);

    const [again, other] = [await open(test), await open(test)];
    expect(await other.call('instance')).toBe(await again.call('instance'));
  });

  test('is remembered after it has started again', async () => {
    await using test = await openReadOnly();
    const [one] = await openTwo(test);
    await (await one.post({ id: 3, method: 'logging/setLevel', params: { level: 'debug' } })).text();

    test.proxy.disconnect('it exited', false);
    const start = async (): Promise<ScriptedServer> => test.start();
    await test.proxy.connect(await start(), start, new AbortController().signal);

    const [again, other] = [await open(test), await open(test)];
    expect(await again.call('instance')).not.toBe(await other.call('instance'));
  });

  test('is recognized by what it asks a client without sessions', async () => {
    const { seen, knownState } = memory();
    await using test = await openReadOnly({ knownState });

    const call = { name: 'ask', arguments: question };
    const { result } = await answerOf(
      await postModern(test.url, 'tools/call', call, { capabilities: { sampling: {} } }),
    );

    expect(result).toMatchObject({ resultType: 'input_required' });
    expect(seen).toEqual(['asked']);
  });
});

describe('a process that sessions share', () => {
  const limits = { sharedIdleMs: 0, maintenanceMs: 5 };

  test('ends when it is idle, and the next call starts another one', async () => {
    await using test = await openReadOnly({ limits });
    const session = await open(test);
    const first = await session.call('instance');
    await expect.poll(() => test.running, quick).toEqual(['s0']);

    const second = await session.call('instance');

    expect(second).not.toBe(first);
  });

  test('does not end while it works on a call', async () => {
    await using test = await openReadOnly({ limits });
    const session = await open(test);
    const held = session.postCall(5, 'hold');
    const holding = (): ScriptedServer | undefined =>
      test.servers.find((server) => server.last('tools/call') !== undefined);
    await expect.poll(holding, quick).toBeDefined();
    const other = await open(test, { capabilities: {} });
    await other.call('instance');
    await expect.poll(() => test.running.length, quick).toBe(2); // the one of the other session has ended

    const server = holding();
    server?.send({ id: server.last('tools/call')?.id, result: {} });

    expect((await answerOf(await held)).result).toEqual({});
  });

  test('stays as long as its sessions if the server turns out to keep something', async () => {
    await using test = await openReadOnly({ limits: { ...limits, sharedIdleMs: 60_000 } });
    const [one, two, server] = await openTwo(test);
    server.send({ method: 'notifications/tools/list_changed' });
    await expect.poll(() => test.proxy.sharing, quick).toContain('changed');
    await (await one.end()).text();
    expect(await two.call('instance')).toBe(server.id);

    await (await two.end()).text();

    await expect.poll(() => test.running, quick).toEqual(['s0']);
  });
});

test('the process of a session that is not shared is never idle while the session lives', async () => {
  const minute = 60_000;
  let nowMs = Date.now();
  const limits = { maintenanceMs: 5, sessionIdleMs: 120 * minute };
  await using test = await openScriptedProxy({ sessions: 'auto', limits, now: () => nowMs });
  const [silent, session] = [await open(test), await open(test)];
  await session.call('remember', { value: 'kept' });
  nowMs += 50 * minute;
  await session.call('instance');

  nowMs += 75 * minute; // more than the time after which `own` ends processes
  await expect.poll(() => test.proxy.sessions().map(({ id }) => id), quick).not.toContain(silent.id);

  expect(await session.call('recall')).toBe('kept');
});

test('a session through the API shares no process, because the API has callers that the proxy does not know', async () => {
  await using test = await openReadOnly();
  await using api = await openRelay(test);
  const [one, two, direct] = [
    await RawSession.open(api.url),
    await RawSession.open(api.url),
    await open(test, {}),
  ];
  const nameless = new RawSession(api.url);

  const instances = [];
  for (const session of [one, two, direct, nameless]) instances.push(await session.call('instance'));

  expect(new Set(instances).size).toBe(4);
});

/** An API that relays everything to the proxy. */
async function openRelay({ proxy }: ScriptedProxy): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => proxy.relay(request, response, undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
