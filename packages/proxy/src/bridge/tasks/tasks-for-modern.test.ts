import { setTimeout as delay } from 'node:timers/promises';
import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProxyOptions } from '../../proxy.ts';
import { startHttpServer, startStdioServer } from '../../testing/conformance-servers.ts';
import { openScriptedProxy } from '../../testing/scripted-server.ts';
import { modernTaskServer, tasksExtension } from '../../testing/task-servers.ts';
import { answerOf, openTestProxy, postModern, readEvents } from '../../testing/test-proxy.ts';
import type { Received, TestProxy } from '../../testing/test-proxy.ts';

const limits = { minPollMs: 1, maxPollMs: 20 };
const never = new AbortController().signal;
const declared = { extensions: { [tasksExtension]: {} }, elicitation: { form: {} } };
const clientInfo = { name: 'editor', version: '1' };

interface Opened extends TestProxy {
  ask: (method: string, params: object, more?: object) => Promise<Received>;
  call: (name: string, more?: object) => Promise<Record<string, unknown>>;
  /** Asks about a task until a condition holds. */
  until: (
    taskId: unknown,
    holds: (task: Record<string, unknown>) => boolean,
  ) => Promise<Record<string, unknown>>;
}

function withRequests(proxy: TestProxy): Opened {
  const ask: Opened['ask'] = async (method, params, more = {}) =>
    answerOf(
      await postModern(proxy.url, method, { ...params }, { capabilities: declared, clientInfo, ...more }),
    );
  const call: Opened['call'] = async (name, more) =>
    (await ask('tools/call', { name, arguments: {} }, more)).result ?? {};
  const until: Opened['until'] = async (taskId, holds) => {
    for (;;) {
      const { result, error } = await ask('tasks/get', { taskId });
      if (error !== undefined) throw new Error(error.message);
      if (result !== undefined && holds(result)) return result;
      await delay(5);
    }
  };
  return { ...proxy, ask, call, until };
}

const isOver = ({ status }: Record<string, unknown>): boolean =>
  ['completed', 'failed', 'cancelled'].includes(String(status));

/** A proxy in front of the official SDK's server with tasks, on stdio: one process for each conversation. */
async function openStdio(changes: Partial<ProxyOptions> = {}): Promise<Opened & { instances: Instance[] }> {
  const proxy = await openTestProxy({ sessions: 'own', limits, ...changes });
  const instances: Instance[] = [];
  const start = async (): Promise<Instance> => {
    const instance = startStdioServer('tasks');
    instances.push(instance);
    return instance;
  };
  await proxy.proxy.connect(await start(), start, never);
  return {
    ...withRequests(proxy),
    instances,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const instance of instances) await instance.stop(0);
    },
  };
}

let port: number;
let server: Instance;
beforeAll(async () => {
  port = await testPort();
  server = startHttpServer('tasks', port);
});
afterAll(() => server.stop(0));

/** A proxy in front of one such server over HTTP, which outlives the proxy. */
async function openHttp(changes: Partial<ProxyOptions> = {}): Promise<Opened> {
  const proxy = await openTestProxy({ sessions: 'own', transport: 'streamable-http', limits, ...changes });
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const;
  await proxy.proxy.connect({ address }, () => Promise.reject(new Error('not for HTTP')), never);
  return withRequests(proxy);
}

describe.each([
  ['stdio', openStdio],
  ['HTTP', openHttp],
] as const)('a modern client of a legacy server with tasks over %s', (_transport, open) => {
  test('is offered the extension, in the place of the tasks of 2025-11-25', async () => {
    await using proxy = await open();

    const { result } = await proxy.ask('server/discover', {});

    expect(result?.['capabilities']).toMatchObject({ extensions: { [tasksExtension]: {} } });
    expect(result?.['capabilities']).not.toHaveProperty('tasks');
  });

  test('gets a task, and its result with tasks/get', async () => {
    await using proxy = await open();

    const created = await proxy.call('finish');
    const { taskId } = created;
    const over = await proxy.until(taskId, isOver);

    expect(created).toMatchObject({ resultType: 'task', ttlMs: expect.any(Number), pollIntervalMs: 5 });
    expect(created).not.toHaveProperty('ttl');
    expect(over).toMatchObject({
      resultType: 'complete',
      taskId,
      status: 'completed',
      result: { content: [{ type: 'text', text: 'finished' }] },
    });
    expect((await proxy.ask('tasks/get', { taskId })).result).toEqual(over); // again
  });

  test('gets the result of a tool that failed, as a completed task', async () => {
    await using proxy = await open();

    const { taskId } = await proxy.call('fail');

    expect(await proxy.until(taskId, isOver)).toMatchObject({
      status: 'completed',
      result: { isError: true, content: [{ text: 'Error: out of paper' }] },
    });
  });

  test('answers what the server asks with tasks/update', async () => {
    await using proxy = await open();
    const { taskId } = await proxy.call('input');

    const asking = await proxy.until(taskId, ({ status }) => status === 'input_required');
    const inputRequests = asking['inputRequests'] as Record<string, unknown>;
    const [key = ''] = Object.keys(inputRequests);
    const again = await proxy.ask('tasks/get', { taskId });
    const unknown = await proxy.ask('tasks/update', {
      taskId,
      inputResponses: { other: { action: 'cancel' } },
    });
    const answer = { action: 'accept', content: { name: 'Ada' } };
    const updated = await proxy.ask('tasks/update', { taskId, inputResponses: { [key]: answer } });

    expect(inputRequests).toMatchObject({
      [key]: { method: 'elicitation/create', params: { message: 'Who are you?' } },
    });
    expect(again.result).toMatchObject({ inputRequests }); // under the same key
    expect([unknown.result, updated.result]).toEqual([
      { resultType: 'complete' },
      { resultType: 'complete' },
    ]);
    expect(await proxy.until(taskId, isOver)).toMatchObject({
      result: { content: [{ text: 'accept Ada' }] },
    });
  });

  test('cancels a task, also one that is over', async () => {
    await using proxy = await open();
    const { taskId } = await proxy.call('hang');

    const cancelled = await proxy.ask('tasks/cancel', { taskId });
    const state = await proxy.ask('tasks/get', { taskId });

    expect(cancelled.result).toEqual({ resultType: 'complete' });
    expect(state.result).toMatchObject({ status: 'cancelled', taskId });
    expect(state.result).not.toHaveProperty('result');
    expect((await proxy.ask('tasks/cancel', { taskId })).result).toEqual({ resultType: 'complete' });
  });

  test('learns that a task is unknown', async () => {
    await using proxy = await open();

    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      for (const taskId of ['t1', '', 7, 'A'.repeat(200)]) {
        const { error } = await proxy.ask(method, { taskId, inputResponses: {} });
        expect(error).toEqual({ code: -32_602, message: 'the task is unknown or has expired' });
      }
    expect((await proxy.ask('tasks/list', {})).error).toMatchObject({ code: -32_601 });
    expect((await proxy.ask('tasks/result', { taskId: 't1' })).error).toMatchObject({ code: -32_601 });
  });

  test('gets results if the client or the tool takes no task', async () => {
    await using proxy = await open();
    const capabilities = { elicitation: { form: {} } };

    expect(await proxy.call('direct')).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'direct' }],
    });
    expect(await proxy.call('finish', { capabilities })).toMatchObject({ content: [{ text: 'finished' }] });
    // The proxy makes a task of the call and waits, because the tool refuses other calls.
    expect(await proxy.call('required', { capabilities })).toMatchObject({
      resultType: 'complete',
      content: [{ text: 'finished as a task' }],
    });
    const undeclared = await proxy.ask('tasks/get', { taskId: 't1' }, { capabilities });
    expect(undeclared.error).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    });
  });

  test('is asked in the course of a call that must be a task', async () => {
    await using proxy = await open();
    const more = { capabilities: { elicitation: { form: {} } } };
    const params = { name: 'required-input', arguments: {} };

    const asking = (await proxy.ask('tools/call', params, more)).result as {
      inputRequests: object;
      requestState: string;
    };
    const [key = ''] = Object.keys(asking.inputRequests);
    const inputResponses = { [key]: { action: 'decline' } };
    const { requestState } = asking;
    const answer = await proxy.ask('tools/call', { ...params, requestState, inputResponses }, more);

    expect(answer.result).toMatchObject({ content: [{ text: 'decline undefined' }] });
  });

  test('is told of changes if the client subscribes to its tasks', async () => {
    await using proxy = await open();
    const { taskId } = await proxy.call('input');
    const { taskId: hanging } = await proxy.call('hang');
    const over = new AbortController();
    const notifications = { taskIds: [taskId, 'unknown'] };
    const params = { notifications };
    const more = { capabilities: declared, clientInfo, signal: over.signal };
    const events = readEvents(await postModern(proxy.url, 'subscriptions/listen', params, more));
    const next = async (): Promise<Received> => (await events.next()).value as Received;

    const [acknowledged, asking] = [await next(), await next()];
    const told = asking.params?.['status'] === 'working' ? await next() : asking;
    const [key = ''] = Object.keys(told.params?.['inputRequests'] as object);
    const inputResponses = { [key]: { action: 'decline' } };
    await proxy.ask('tasks/update', { taskId, inputResponses });
    let last = await next();
    while (!isOver(last.params ?? {})) last = await next();
    over.abort();

    expect(acknowledged).toMatchObject({ params: { notifications: { taskIds: [taskId] } } });
    expect(last).toMatchObject({
      method: 'notifications/tasks',
      params: {
        taskId,
        status: 'completed',
        result: { content: [{ text: 'decline undefined' }] },
        _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
      },
    });
    await proxy.ask('tasks/cancel', { taskId: hanging });
    const undeclared = await postModern(proxy.url, 'subscriptions/listen', params);
    expect((await answerOf(undeclared)).error).toMatchObject({ code: -32_021 });
  });

  test('may have so many tasks under way', async () => {
    await using proxy = await open();
    for (let n = 0; n < 100; n++) await proxy.call('hang');

    const { error } = await proxy.ask('tools/call', { name: 'hang', arguments: {} });

    expect(error?.message).toContain('more than 100 tasks of this caller');
  });
});

describe('the tasks of processes', () => {
  test('run in the process of their caller, which is kept for them', async () => {
    await using proxy = await openStdio();
    const tasks = [await proxy.call('hang'), await proxy.call('hang'), await proxy.call('finish')];

    for (const { taskId } of tasks) await proxy.ask('tasks/get', { taskId });

    expect(proxy.instances.length).toBeLessThanOrEqual(3); // the shared one, that of the caller, and one on standby
  });

  test('end with the process, and say so', async () => {
    await using proxy = await openStdio();
    const { taskId } = await proxy.call('hang');

    for (const instance of proxy.instances.slice(1)) await instance.stop(0);

    await expect
      .poll(async () => (await proxy.ask('tasks/get', { taskId })).error?.message)
      .toContain('the server of this task has ended');
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect((await proxy.ask(method, { taskId })).error).toMatchObject({ code: -32_602 });
  });

  test('end with the proxy, and its successor says so', async () => {
    const keys = [Buffer.alloc(32, 7)];
    let taskId: unknown;
    {
      await using before = await openStdio({ taskKeys: () => keys });
      ({ taskId } = await before.call('hang'));
    }
    await using after = await openStdio({ taskKeys: () => keys });

    const { error } = await after.ask('tasks/get', { taskId });

    expect(error).toEqual({
      code: -32_602,
      message: 'the server of this task has ended, and the task with it',
    });
  });
});

describe('the tasks of a server over HTTP', () => {
  const keys = [Buffer.alloc(32, 7)];

  test('survive the proxy', async () => {
    let ids: unknown[];
    {
      await using before = await openHttp({ taskKeys: () => keys });
      const calls = [await before.call('finish'), await before.call('hang'), await before.call('input')];
      ids = calls.map(({ taskId }) => taskId);
    }
    await using after = await openHttp({ taskKeys: () => keys });
    const [finished, hanging, asking] = ids;

    expect(await after.until(finished, isOver)).toMatchObject({
      result: { content: [{ text: 'finished' }] },
    });
    expect((await after.ask('tasks/get', { taskId: hanging })).result).toMatchObject({ status: 'working' });
    expect((await after.ask('tasks/cancel', { taskId: hanging })).result).toEqual({ resultType: 'complete' });
    const { inputRequests } = await after.until(asking, ({ status }) => status === 'input_required');
    const [key = ''] = Object.keys(inputRequests as object);
    await after.ask('tasks/update', { taskId: asking, inputResponses: { [key]: { action: 'cancel' } } });
    expect(await after.until(asking, isOver)).toMatchObject({
      result: { content: [{ text: 'cancel undefined' }] },
    });
  });

  test('survive their connection, which makes room for another client', async () => {
    await using proxy = await openHttp({ limits: { ...limits, maxOwn: 1 } });
    const { taskId } = await proxy.call('hang');

    const other = await proxy.call('direct', { clientInfo: { name: 'other', version: '1' } });
    const state = await proxy.ask('tasks/get', { taskId });

    expect(other).toMatchObject({ content: [{ text: 'direct' }] });
    expect(state.result).toMatchObject({ taskId, status: 'working' });
  });

  test('do not survive without the key', async () => {
    let taskId: unknown;
    {
      await using before = await openHttp();
      ({ taskId } = await before.call('hang'));
    }
    await using after = await openHttp();

    expect((await after.ask('tasks/get', { taskId })).error).toMatchObject({ code: -32_602 });
  });

  test('have IDs that say nothing about the session of the server', async () => {
    await using proxy = await openHttp();

    const { taskId } = await proxy.call('hang');

    expect(Buffer.from(String(taskId), 'base64url').toString('latin1')).not.toMatch(
      /session|[\da-f]{8}-[\da-f]{4}/,
    );
  });
});

test('a modern client learns from a modern server on stdio of the tasks that it subscribes to', async () => {
  await using proxy = await openScriptedProxy({ limits }, modernTaskServer());
  const over = new AbortController();
  const capabilities = declared;
  const call = await answerOf(await postModern(proxy.url, 'tools/call', { name: 'hang' }, { capabilities }));
  const { taskId } = call.result ?? {};
  const listen = (taskIds: unknown[]): Promise<Response> =>
    postModern(
      proxy.url,
      'subscriptions/listen',
      { notifications: { taskIds } },
      { capabilities, signal: over.signal },
    );
  const [events, others] = [readEvents(await listen([taskId])), readEvents(await listen(['other']))];
  await Promise.all([events.next(), others.next()]);
  const server = proxy.servers[0];
  const wanted = (): unknown => server?.last('subscriptions/listen')?.params?.['notifications'];
  await expect.poll(wanted).toMatchObject({ taskIds: [taskId, 'other'] });

  for (const id of [taskId, 'other'])
    server?.send({ method: 'notifications/tasks', params: { taskId: id, status: 'cancelled' } });

  expect((await events.next()).value).toMatchObject({ params: { taskId, status: 'cancelled' } });
  expect((await others.next()).value).toMatchObject({ params: { taskId: 'other' } });
  over.abort();
});
