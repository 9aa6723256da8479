import { unauthorized } from '@toolhive/contract/failure';
import { testPort } from '@toolhive/testing/port';
import type { Instance } from '@toolhive/runtime/runtime';
import { describe, expect, test } from 'vitest';
import type { ProxyOptions } from '../../proxy.ts';
import { startHttpServer, startStdioServer } from '../../testing/conformance-servers.ts';
import { ScriptedServer } from '../../testing/scripted-server.ts';
import { modernTaskServer, tasksExtension } from '../../testing/task-servers.ts';
import { RawSession, answerOf, openTestProxy, postModern } from '../../testing/test-proxy.ts';
import type { Received, TestProxy } from '../../testing/test-proxy.ts';

/** Callers are who they say they are. */
const options: Partial<ProxyOptions> = {
  sessions: 'own',
  limits: { minPollMs: 1, maxPollMs: 20 },
  access: {
    check: async (authorization) => {
      if (authorization === undefined) throw unauthorized('who is there?');
      return { id: authorization };
    },
  },
};
const never = new AbortController().signal;

type Open = () => Promise<TestProxy>;

async function onStdio(start: () => Promise<Instance>, more: Partial<ProxyOptions> = {}): Promise<TestProxy> {
  const proxy = await openTestProxy({ ...options, ...more });
  const started: Instance[] = [];
  const startAnother = async (): Promise<Instance> => {
    const instance = await start();
    started.push(instance);
    return instance;
  };
  await proxy.proxy.connect(await startAnother(), startAnother, never);
  return {
    ...proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      for (const instance of started) await instance.stop(0);
    },
  };
}

async function onHttp(): Promise<TestProxy> {
  const port = await testPort();
  const server = startHttpServer('tasks', port);
  const proxy = await openTestProxy({ ...options, transport: 'streamable-http' });
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const;
  await proxy.proxy.connect({ address }, () => Promise.reject(new Error('not for HTTP')), never);
  return {
    ...proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server.stop(0);
    },
  };
}

const servers: Record<string, Open> = {
  'a legacy server on stdio': () => onStdio(async () => startStdioServer('tasks')),
  'a legacy server over HTTP': onHttp,
  'a modern server': () => {
    const manners = modernTaskServer();
    return onStdio(async () => new ScriptedServer('modern', manners));
  },
};

type Ask = (method: string, params: Record<string, unknown>) => Promise<Received>;

const clients: Record<string, (url: string, who: string) => Promise<Ask>> = {
  async '2025-11-25'(url, authorization) {
    const session = new RawSession(url);
    const clientInfo = { name: 'editor', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const begun = await session.post({ id: 0, method: 'initialize', params }, { authorization });
    session.id = begun.headers.get('mcp-session-id') ?? '';
    await begun.body?.cancel();
    await session.post({ method: 'notifications/initialized' }, { authorization });
    let last = 0;
    return async (method, given) =>
      answerOf(await session.post({ id: ++last, method, params: given }, { authorization }));
  },
  async '2026-07-28'(url, authorization) {
    const capabilities = { extensions: { [tasksExtension]: {} } };
    return async (method, given) =>
      answerOf(await postModern(url, method, given, { capabilities, headers: { authorization } }));
  },
};

const methods: Record<string, readonly string[]> = {
  '2025-11-25': ['tasks/get', 'tasks/result', 'tasks/cancel'],
  '2026-07-28': ['tasks/get', 'tasks/update', 'tasks/cancel'],
};

describe.each(Object.keys(servers))('with %s', (server) => {
  test.each(Object.keys(clients))(
    'a task of a client of %s is unknown to any other principal',
    async (version) => {
      await using proxy = await servers[server]!();
      const [ada, eve] = [
        await clients[version]!(proxy.url, 'ada'),
        await clients[version]!(proxy.url, 'eve'),
      ];
      const call = {
        name: 'hang',
        arguments: {},
        ...(version === '2025-11-25' ? { task: { ttl: 60_000 } } : {}),
      };

      const { result, error } = await ada('tools/call', call);
      expect(error).toBeUndefined();
      const { taskId } = (result?.['task'] ?? result) as { taskId: string };
      await eve('tools/call', call);
      const of = async (ask: Ask, id: string): Promise<unknown[]> => {
        const answers = [];
        for (const method of methods[version]!.filter((one) => one !== 'tasks/cancel'))
          answers.push((await ask(method, { taskId: id, inputResponses: {} })).error);
        answers.push((await ask('tasks/cancel', { taskId: id })).error);
        return answers;
      };

      const foreign = await of(eve, taskId);
      const missing = await of(eve, 'nothing');
      const own = await ada('tasks/get', { taskId });

      expect(foreign).toEqual(missing);
      expect(foreign).toEqual(foreign.map(() => expect.objectContaining({ code: -32_602 })));
      expect(own.result).toMatchObject({ taskId, status: 'working' });
      expect((await ada('tasks/cancel', { taskId })).error).toBeUndefined();
      if (version !== '2025-11-25') return;
      const listed = async (ask: Ask): Promise<unknown> =>
        ((await ask('tasks/list', {})).result as { tasks: { taskId: string }[] }).tasks.map(
          (task) => task.taskId,
        );
      expect(await listed(ada)).toEqual([taskId]);
      expect(await listed(eve)).toEqual([expect.not.stringContaining(taskId)]);
    },
  );
});

test.each(['2025-11-25', '2026-07-28'])(
  'a policy that forbids a tool covers the tasks of a client of %s',
  async (version) => {
    let forbidden = '';
    const authorizer = { isAllowed: ({ target }: { target: string }) => target !== forbidden };
    const manners = modernTaskServer();
    await using proxy = await onStdio(
      async () =>
        version === '2025-11-25' ? new ScriptedServer('modern', manners) : startStdioServer('tasks'),
      { authorizer },
    );
    const ada = await clients[version]!(proxy.url, 'ada');
    const { result } = await ada('tools/call', { name: 'hang', arguments: {}, task: {} });
    const { taskId } = (result?.['task'] ?? result) as { taskId: string };
    const before = await ada('tasks/get', { taskId });

    forbidden = 'hang';

    expect(before.result).toMatchObject({ taskId, status: 'working' });
    const denied = { code: 403, message: 'not authorized: no policy allows call_tool "hang"' };
    for (const method of methods[version]!)
      expect((await ada(method, { taskId, inputResponses: {} })).error).toMatchObject(denied);
    expect((await ada('tools/call', { name: 'hang', arguments: {}, task: {} })).error).toMatchObject(denied);
    // Modern versions have no such list.
    expect((await ada('tasks/list', {})).result?.['tasks'] ?? []).toEqual([]);
  },
);
