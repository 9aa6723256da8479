import { describe, expect, test } from 'vitest';
import { openScriptedProxy } from '../../testing/scripted-server.ts';
import type { ScriptedProxy, ScriptedServer } from '../../testing/scripted-server.ts';
import { elicitation, modernTaskServer } from '../../testing/task-servers.ts';
import { RawSession, answerOf, readEvents } from '../../testing/test-proxy.ts';
import type { Received } from '../../testing/test-proxy.ts';

const limits = { minPollMs: 1, maxPollMs: 10 };
const capabilities = { elicitation: { form: {} } };
const task = { ttl: 60_000 };
const related = 'io.modelcontextprotocol/related-task';

function open(changes: ScriptedServer['manners'] = {}, options: object = {}): Promise<ScriptedProxy> {
  return openScriptedProxy({ limits, ...options }, { ...modernTaskServer(), ...changes });
}

/** A session of a legacy client that asks about tasks. */
async function begin(url: string, protocolVersion = '2025-11-25') {
  const session = await RawSession.open(url, { protocolVersion, capabilities });
  let last = 100;
  const ask = async (method: string, params: object = {}): Promise<Received> =>
    answerOf(await session.post({ id: ++last, method, params }));
  const create = async (name: string): Promise<Record<string, unknown>> => {
    const { result } = await answerOf(await session.postCall(++last, name, {}, { task }));
    return result?.['task'] as Record<string, unknown>;
  };
  return { session, ask, create };
}

const content = (text: string): object => ({ content: [{ type: 'text', text }] });

describe('a client of 2025-11-25 of a modern server with tasks', () => {
  test('learns that tools can run as tasks', async () => {
    await using proxy = await open();
    const session = new RawSession(proxy.url);
    const initialize = { protocolVersion: '2025-11-25' };

    const greeting = await session.post({ id: 0, method: 'initialize', params: initialize });
    session.id = greeting.headers.get('mcp-session-id') ?? '';
    const { result } = await answerOf(greeting);
    const listed = await answerOf(await session.post({ id: 1, method: 'tools/list' }));

    expect(result?.['capabilities']).toEqual({
      tools: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
    const tools = listed.result?.['tools'] as { execution?: unknown }[];
    expect(tools.map(({ execution }) => execution)).toEqual(tools.map(() => ({ taskSupport: 'optional' })));
  });

  test('gets a task and its result', async () => {
    await using proxy = await open();
    const { ask, create } = await begin(proxy.url);

    const created = await create('finish');
    const { taskId } = created;
    const during = await ask('tasks/get', { taskId });
    const result = await ask('tasks/result', { taskId });
    const after = await ask('tasks/get', { taskId });

    expect(created).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: 1 });
    expect(created).not.toHaveProperty('ttlMs');
    expect(during.result).toMatchObject({ taskId, status: 'working' });
    expect(during.result).not.toHaveProperty('resultType');
    expect(result.result).toEqual({ ...content('finish'), _meta: { [related]: { taskId } } });
    expect(after.result).toMatchObject({ taskId, status: 'completed' });
    expect(after.result).not.toHaveProperty('result');
  });

  test('gets the error of a task that failed, and the result of a tool that failed', async () => {
    await using proxy = await open();
    const { ask, create } = await begin(proxy.url);
    const [failed, erring] = [await create('fail'), await create('tool-error')];

    const error = await ask('tasks/result', { taskId: failed['taskId'] });
    const result = await ask('tasks/result', { taskId: erring['taskId'] });

    expect(error.error).toEqual({ code: -32_050, message: 'out of paper' });
    expect(result.result).toMatchObject({ isError: true });
    for (const { taskId } of [failed, erring])
      expect((await ask('tasks/get', { taskId })).result).toMatchObject({ status: 'failed' });
  });

  test('is asked in the course of tasks/result, once', async () => {
    await using proxy = await open();
    const { session, create } = await begin(proxy.url);
    const { taskId } = await create('input');

    const events = readEvents(await session.post({ id: 7, method: 'tasks/result', params: { taskId } }));
    const { value: asked } = await events.next();
    await session.post({ id: asked.id, result: { action: 'accept', content: { name: 'Ada' } } });
    const { value: answer } = await events.next();

    expect(asked).toMatchObject({ ...elicitation, params: { _meta: { [related]: { taskId } } } });
    expect(answer.result).toMatchObject(content('{"who":{"action":"accept","content":{"name":"Ada"}}}'));
    expect(proxy.servers[0]?.methods.filter((method) => method === 'tasks/update')).toHaveLength(1);
  });

  test('is asked again by the next tasks/result, if the first one was cancelled before the answer', async () => {
    await using proxy = await open();
    const { session, create } = await begin(proxy.url);
    const { taskId } = await create('input');
    const first = readEvents(await session.post({ id: 7, method: 'tasks/result', params: { taskId } }));
    await first.next();

    await session.post({ method: 'notifications/cancelled', params: { requestId: 7 } });
    const { value: cancelled } = await first.next();
    const second = readEvents(await session.post({ id: 8, method: 'tasks/result', params: { taskId } }));
    const { value: asked } = await second.next();
    await session.post({ id: asked.id, result: { action: 'cancel' } });
    const { value: answer } = await second.next();

    expect(cancelled).toMatchObject({ error: { message: 'the request was cancelled' } });
    expect(answer.result).toMatchObject(content('{"who":{"action":"cancel"}}'));
  });

  test('cancels a task for good, and only once', async () => {
    await using proxy = await open();
    const { ask, create } = await begin(proxy.url);
    const { taskId } = await create('finish');

    const cancelled = await ask('tasks/cancel', { taskId });
    const again = await ask('tasks/cancel', { taskId });
    await ask('tasks/get', { taskId });
    const later = await ask('tasks/get', { taskId });

    expect(cancelled.result).toMatchObject({ taskId, status: 'cancelled' });
    expect(again.error).toMatchObject({ code: -32_602, message: expect.stringContaining('cancelled') });
    expect(later.result).toMatchObject({ status: 'cancelled' });
    expect((await ask('tasks/result', { taskId })).error).toMatchObject({ message: 'the task was canceled' });
    expect(proxy.servers[0]?.methods).toContain('tasks/cancel');
  });

  test('lists the tasks of its session, page by page, and no others', async () => {
    await using proxy = await open();
    const [one, two] = [await begin(proxy.url), await begin(proxy.url)];
    for (let n = 0; n < 21; n++) await one.create('hang');
    await two.create('hang');

    const first = (await one.ask('tasks/list')).result as { tasks: object[]; nextCursor: string };
    const second = await one.ask('tasks/list', { cursor: first.nextCursor });
    const others = await two.ask('tasks/list');

    expect(first.tasks).toHaveLength(20);
    expect(second.result).toEqual({ tasks: [expect.objectContaining({ taskId: 't21', status: 'working' })] });
    expect(others.result).toEqual({ tasks: [expect.objectContaining({ taskId: 't22' })] });
    expect((await one.ask('tasks/list', { cursor: 'unknown' })).error).toMatchObject({ code: -32_602 });
  });

  test('is told of changes that the proxy sees', async () => {
    await using proxy = await open();
    const { session, ask, create } = await begin(proxy.url);
    await using heard = await session.listen();
    const { taskId } = await create('finish');

    await ask('tasks/result', { taskId });

    expect((await heard.next()).value).toMatchObject({
      method: 'notifications/tasks/status',
      params: { taskId, status: 'completed', ttl: 60_000 },
    });
  });

  test('is told of changes that the server tells of its own accord', async () => {
    await using proxy = await open();
    const [one, two] = [await begin(proxy.url), await begin(proxy.url)];
    await using heardByOne = await one.session.listen();
    await using heardByTwo = await two.session.listen();
    const [{ taskId }, other] = [await one.create('hang'), await two.create('hang')];
    const server = proxy.servers[0];
    const listened = (): unknown => server?.last('subscriptions/listen')?.params?.['notifications'];
    await expect.poll(listened).toMatchObject({ taskIds: [taskId, other['taskId']] });
    const tell = (id: unknown, status: string, more: object = {}): void =>
      server?.send({
        method: 'notifications/tasks',
        params: { taskId: id, status, ttlMs: null, ...more },
      });

    tell('unknown', 'working');
    tell(taskId, 'dreaming');
    tell(other['taskId'], 'cancelled');
    tell(taskId, 'completed', { result: { content: [], isError: true } });

    const { value: toOne } = await heardByOne.next();
    expect(toOne).toMatchObject({
      method: 'notifications/tasks/status',
      params: { taskId, status: 'failed' },
    });
    expect(toOne.params).not.toHaveProperty('result');
    expect((await heardByTwo.next()).value).toMatchObject({ params: { status: 'cancelled' } });
    expect(proxy.faults).toEqual([]);
  });

  test('gets a finished task if the server executes the call at once', async () => {
    await using proxy = await open();
    const [one, two] = [await begin(proxy.url), await begin(proxy.url)];

    const created = await one.create('direct');
    const { taskId } = created;

    expect(created).toMatchObject({ status: 'working' });
    expect((await one.ask('tasks/get', { taskId })).result).toMatchObject({ status: 'completed' });
    expect((await one.ask('tasks/result', { taskId })).result).toEqual({
      ...content('direct'),
      _meta: { [related]: { taskId } },
    });
    expect((await one.ask('tasks/cancel', { taskId })).error).toMatchObject({ code: -32_602 });
    expect((await one.ask('tasks/list')).result).toMatchObject({ tasks: [{ taskId }] });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await two.ask(method, { taskId })).error).toMatchObject({ code: -32_602 });
  });

  test('learns that a task is unknown', async () => {
    await using proxy = await open();
    const { ask } = await begin(proxy.url);

    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      for (const taskId of ['nothing', 7, undefined])
        expect((await ask(method, { taskId })).error).toMatchObject({ code: -32_602 });
    expect((await ask('tasks/update', { taskId: 't1' })).error).toMatchObject({ code: -32_601 });
  });

  test('may have so many tasks under way', async () => {
    await using proxy = await open();
    const { session, create } = await begin(proxy.url);
    for (let n = 0; n < 100; n++) await create('hang');

    const { error } = await answerOf(await session.postCall(1, 'hang', {}, { task }));

    expect(error?.message).toContain('more than 100 tasks');
  });
});

describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
  'a client of %s that does not ask for a task',
  (version) => {
    test('gets the result of the task', async () => {
      await using proxy = await open();
      const { session } = await begin(proxy.url, version);

      expect(await session.call('finish')).toBe('finish');
      await expect(session.call('fail')).rejects.toThrow('out of paper');
      expect(await session.call('direct')).toBe('direct');
    });

    test('is asked what the server wants to know', async () => {
      await using proxy = await open();
      const { session } = await begin(proxy.url, version);

      const events = readEvents(await session.postCall(7, 'input'));
      const { value: asked } = await events.next();
      await session.post({ id: asked.id, result: { action: 'decline' } });
      const { value: answer } = await events.next();

      expect(asked).toMatchObject({ method: 'elicitation/create' });
      expect(asked.params).not.toHaveProperty('_meta');
      expect(answer.result).toEqual(content('{"who":{"action":"decline"}}'));
    });
  },
);

test('clients of earlier versions have no tasks', async () => {
  await using proxy = await open();
  const { session, ask } = await begin(proxy.url, '2025-06-18');

  const answer = await answerOf(await session.postCall(1, 'finish', {}, { task }));

  expect(answer.result).toEqual(content('finish'));
  expect((await ask('tasks/get', { taskId: 't1' })).error).toMatchObject({ code: -32_601 });
  expect(JSON.stringify((await ask('tools/list')).result)).not.toContain('taskSupport');
});

test('what a task says about itself becomes rising progress', async () => {
  await using proxy = await open();
  const { session } = await begin(proxy.url);

  const call = await session.postCall(7, 'input', {}, { _meta: { progressToken: 'mine' } });
  const received: Received[] = [];
  for await (const message of readEvents(call)) {
    received.push(message);
    if (message.method === 'elicitation/create')
      await session.post({ id: message.id, result: { action: 'decline' } });
  }

  const progress = received.filter(({ method }) => method === 'notifications/progress');
  expect(progress.map(({ params }) => params)).toMatchObject([
    { progressToken: 'mine', progress: 1, message: 'now working' },
    { progressToken: 'mine', progress: 2, message: 'now input_required' },
    expect.objectContaining({ progress: 3 }),
  ]);
});

test('a client that cancels a call cancels its task', async () => {
  await using proxy = await open();
  const { session } = await begin(proxy.url);
  const call = session.postCall(7, 'hang');
  const server = proxy.servers[0];
  await expect.poll(() => server?.methods).toContain('tasks/get');

  await session.post({ method: 'notifications/cancelled', params: { requestId: 7 } });

  expect(await answerOf(await call)).toMatchObject({ error: { message: 'the request was cancelled' } });
  await expect.poll(() => server?.last('tasks/cancel')?.params?.['taskId']).toBe('t1');
});

test('a session that ends, ends what waits for its tasks', async () => {
  await using proxy = await open();
  const { session, create } = await begin(proxy.url);
  const { taskId } = await create('hang');
  const call = session.postCall(7, 'hang');
  const result = session.post({ id: 8, method: 'tasks/result', params: { taskId } });
  const asked = (id: string): boolean =>
    proxy.servers[0]?.heard.some(
      ({ method, params }) => method === 'tasks/get' && params?.['taskId'] === id,
    ) === true;
  await expect.poll(() => asked('t1') && asked('t2')).toBe(true);

  await session.end();

  for (const response of [await call, await result])
    expect(await answerOf(response)).toMatchObject({ error: { message: 'the session was closed' } });
});

test.each([
  ['an unknown status', { status: 'dreaming' }, 'unknown status "dreaming"'],
  ['no status', { status: undefined }, 'unknown status'],
  ['no result', { status: 'completed' }, 'has no result'],
  ['a result that is none', { status: 'completed', result: [] }, 'has no result'],
])('a server whose task has %s fails only that call', async (_what, odd, why) => {
  await using proxy = await open({
    'tasks/get': () => ({ resultType: 'complete', taskId: 't1', ttlMs: null, ...odd }),
  });
  const { session } = await begin(proxy.url);

  await expect(session.call('finish')).rejects.toThrow(why);
  expect(await session.call('direct')).toBe('direct');
  expect(proxy.faults).toEqual([]);
});

test('a server that asks for ever is stopped', async () => {
  let n = 0;
  await using proxy = await open({
    'tasks/get': () => ({
      resultType: 'complete',
      taskId: 't1',
      status: 'input_required',
      ttlMs: null,
      inputRequests: { [`q${++n}`]: { method: 'roots/list' } },
    }),
    'tasks/update': () => ({ resultType: 'complete' }),
  });
  const session = await RawSession.open(proxy.url, { capabilities: { roots: {} } });

  const received: Received[] = [];
  for await (const message of readEvents(await session.postCall(7, 'finish'))) {
    received.push(message);
    if (message.method === 'roots/list') await session.post({ id: message.id, result: { roots: [] } });
  }

  expect(received.at(-1)?.error?.message).toBe('the server never stops asking');
  expect(received).toHaveLength(52);
});

test('a task that outlives its time to live is given up', async () => {
  let nowMs = Date.now();
  const now = (): number => (nowMs += 1_000);
  await using proxy = await open({}, { now });
  const { session } = await begin(proxy.url);

  await expect(session.call('hang')).rejects.toThrow('in its time to live');
});

test('big numbers survive in the results of tasks', async () => {
  await using proxy = await open({
    'tasks/get'(server, { id }) {
      const state = '"taskId":"t1","status":"completed","ttlMs":null,"resultType":"complete"';
      server.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${state},"result":{"content":[],"n":12345678901234567890}}}\n`,
      );
      return undefined;
    },
  });
  const { session } = await begin(proxy.url);

  expect(await (await session.postCall(7, 'finish')).text()).toContain('"n":12345678901234567890');
});

test('a server that answers with a task although it offers none gets the same treatment', async () => {
  const discovered = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'private',
  };
  await using proxy = await open({
    'server/discover': () => discovered,
    'tools/call': () => ({ resultType: 'task', taskId: 't1', status: 'working', ttlMs: null }),
    'tasks/get': () => ({
      resultType: 'complete',
      taskId: 't1',
      status: 'completed',
      ttlMs: null,
      result: content('at last'),
    }),
  });
  const { session, ask } = await begin(proxy.url);

  expect(await session.call('any')).toBe('at last');
  expect((await ask('tasks/get', { taskId: 't1' })).error).toMatchObject({ code: -32_601 });
});
