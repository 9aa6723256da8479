import { describe, expect, test } from 'vitest';
import { readMessage } from '../jsonrpc/message.ts';
import { RawSession, openTestProxy } from '../testing/test-proxy.ts';
import { authorization } from './authorization.ts';
import type { AccessQuestion, Authorizer } from './authorization.ts';
import { taskOwners } from './task-owners.ts';
import type { CallContext, Outcome, Principal } from './middleware.ts';

const ada: Principal = { id: 'ada', claims: { sub: 'ada' } };
const eve: Principal = { id: 'eve', claims: { sub: 'eve' } };

/** Allows what contains `open`, or what it is told to, and remembers what it was asked. */
function open(isAllowed: Authorizer['isAllowed'] = ({ target }) => target.includes('open')) {
  const asked: AccessQuestion[] = [];
  const authorizer: Authorizer = {
    isAllowed(question) {
      asked.push(question);
      return isAllowed(question);
    },
  };
  const tasks = taskOwners({ authorizer });
  const middleware = authorization({ authorizer, tasks });
  const pass = (message: object, more: Partial<CallContext> = {}): Outcome => {
    const context: CallContext = {
      workload: 'test',
      principal: ada,
      client: { protocolVersion: '2025-11-25', capabilities: {} },
      direction: 'to server',
      message: readMessage(JSON.stringify({ jsonrpc: '2.0', ...message })),
      ...more,
    };
    const outcome = middleware?.message?.(context);
    if (outcome === undefined || outcome instanceof Promise) throw new Error('it decides at once');
    return outcome;
  };
  const request = (method: string, params: object, more?: Partial<CallContext>): string => {
    const outcome = pass({ id: 1, method, params }, more);
    return outcome.kind === 'refusal' ? `refused ${outcome.code}` : 'passed';
  };
  const answer = (method: string, result: object, principal = ada): unknown => {
    const asking = readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }));
    const outcome = pass({ id: 1, result }, { direction: 'to client', request: asking, principal });
    return outcome.kind === 'refusal' ? outcome : outcome.value.result;
  };
  return { asked, pass, request, answer, tasks };
}

describe('requests', () => {
  test.each<[string, string, object, string]>([
    ['a tool', 'tools/call', { name: 'open' }, 'passed'],
    ['another tool', 'tools/call', { name: 'shut' }, 'refused 403'],
    ['a tool in another case', 'tools/call', { name: 'OPEN' }, 'refused 403'],
    ['a tool without a name', 'tools/call', {}, 'refused -32602'],
    ['a tool whose name is a list', 'tools/call', { name: ['open'] }, 'refused -32602'],
    ['arguments that are a list', 'tools/call', { name: 'open', arguments: ['x'] }, 'refused -32602'],
    ['a prompt', 'prompts/get', { name: 'open' }, 'passed'],
    ['another prompt', 'prompts/get', { name: 'shut' }, 'refused 403'],
    ['a resource', 'resources/read', { uri: 'file:///open' }, 'passed'],
    ['another resource', 'resources/read', { uri: 'file:///shut' }, 'refused 403'],
    ['a subscription to a resource', 'resources/subscribe', { uri: 'file:///shut' }, 'refused 403'],
    ['the end of a subscription', 'resources/unsubscribe', { uri: 'file:///shut' }, 'passed'],
    [
      'completions of a prompt',
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'shut' } },
      'refused 403',
    ],
    [
      'completions of a resource',
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'shut' } },
      'refused 403',
    ],
    [
      'completions of what is allowed',
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'open' } },
      'passed',
    ],
    [
      'completions of a resource with a second reference',
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'open', URI: 'shut' } },
      'refused -32602',
    ],
    ...[
      { Argument: { name: 'file', value: 'a' } },
      { argument: { name: 'file', value: 'a', Value: 'b' } },
      { Context: { arguments: { file: 'b' } } },
    ].map((more): [string, string, object, string] => [
      `completions with the arguments ${JSON.stringify(more)}`,
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'open' }, ...more },
      'refused -32602',
    ]),
    [
      'a stream with a second list of resources',
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['open'], ResourceSubscriptions: ['shut'] } },
      'refused -32602',
    ],
    ['completions of nothing', 'completion/complete', {}, 'refused -32602'],
    ['a stream of changes', 'subscriptions/listen', { notifications: { toolsListChanged: true } }, 'passed'],
    [
      'a stream with a resource',
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['open'] } },
      'passed',
    ],
    [
      'a stream with another resource',
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: ['open', 'shut'] } },
      'refused 403',
    ],
    [
      'a stream with one resource instead of a list',
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: 'open' } },
      'refused -32602',
    ],
    ['the task of no caller', 'tasks/result', { taskId: 'one' }, 'refused 403'],
    ['a method that is not known', 'tools/execute', { name: 'open' }, 'refused 403'],
    ['a method in another case', 'Tools/Call', { name: 'open' }, 'refused 403'],
    ['a method of the language', 'constructor', { name: 'open' }, 'refused 403'],
    ['a skill', 'skills/get', { uri: 'skill://open/SKILL.md' }, 'passed'],
    ['another skill', 'skills/get', { uri: 'skill://shut/SKILL.md' }, 'refused 403'],
    ['a skill without a URI', 'skills/get', { name: 'open' }, 'refused -32602'],
    ['a directory', 'resources/directory/read', { uri: 'skill://open' }, 'passed'],
    ['another directory', 'resources/directory/read', { uri: 'skill://shut' }, 'refused 403'],
    ['all skills', 'skills/list', {}, 'passed'],
    ['a ping', 'ping', {}, 'passed'],
    ['a list', 'tools/list', {}, 'passed'],
  ])('for %s are decided', (_what, method, params, expected) => {
    expect(open().request(method, params)).toBe(expected);
  });

  test('for completions are decided with the arguments that the client has chosen', () => {
    const { asked, request } = open();

    request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'open' },
      argument: { name: 'file', value: 'a' },
      context: { arguments: { user: 'bob' } },
    });

    expect(asked.at(-1)).toMatchObject({ action: 'get_prompt', arguments: { user: 'bob', file: 'a' } });
  });

  test('for completions are decided with both values of an argument', () => {
    const isAllowed: Authorizer['isAllowed'] = ({ arguments: given }) => given?.['file'] !== 'secret';
    const complete = (value: string, chosen: string): string =>
      open(isAllowed).request('completion/complete', {
        ref: { type: 'ref/prompt', name: 'open' },
        argument: { name: 'file', value },
        context: { arguments: { file: chosen } },
      });

    expect([complete('a', 'b'), complete('a', 'secret'), complete('secret', 'b')]).toEqual([
      'passed',
      'refused 403',
      'refused 403',
    ]);
  });

  test('are decided with the arguments and with what the server says about the tool', () => {
    const { asked, answer, request } = open();

    answer('tools/list', { tools: [{ name: 'open', annotations: { readOnlyHint: true } }] });
    request('tools/call', { name: 'open', arguments: { path: '/' } });

    expect(asked.at(-1)).toMatchObject({
      action: 'call_tool',
      arguments: { path: '/' },
      annotations: { readOnlyHint: true },
    });
  });
});

test.each([
  ['1000000000000000000000000000001', Infinity],
  ['100.00000000000000000001', Infinity],
  ['9007199254740993', Infinity],
  ['1e-400', Infinity],
  ['0.1000000000000000055511151231257827', Infinity],
  [`1${'0'.repeat(500)}`, Infinity],
  ['1e2', 100],
  ['100.0000000000000000000', 100],
  ['-0.0', -0],
  ['0e5', 0],
  ['0.30000000000000004', 0.30000000000000004],
  ['9007199254740992', 9007199254740992],
])(
  'a number that the server could read as another one is not decided as an exact one: %s',
  (text, expected) => {
    const { asked, pass } = open();
    const message = readMessage(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"open","arguments":{"n":${text},"list":[${text}],"text":"1e999 \\" ${text}"}}}`,
    );

    const outcome = pass({ method: 'ping' }, { message });

    expect(asked[0]?.arguments).toEqual({ n: expected, list: [expected], text: `1e999 " ${text}` });
    expect(outcome).toBe(message);
  },
);

test('resources are decided with those that the server has listed for anyone', () => {
  const { asked, answer, request } = open();

  answer('resources/list', { resources: [{ uri: 'shut:1' }, { uri: 'open:1' }, { uri: 7 }] }, eve);
  answer('resources/templates/list', { resourceTemplates: [{ uriTemplate: 'open:{x}' }] });
  request('resources/read', { uri: 'open:1' });

  const { listed } = asked.at(-1) ?? {};
  expect(['shut:1', 'open:1', 'open:{x}', 'open:2'].map((uri) => listed?.has(uri))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

describe('lists', () => {
  test.each<[string, object, object]>([
    ['tools/list', { tools: [{ name: 'open' }, { name: 'shut' }] }, { tools: [{ name: 'open' }] }],
    ['tools/list', { tools: [{ name: 'shut' }], nextCursor: 'two' }, { tools: [], nextCursor: 'two' }],
    ['tools/list', { tools: [{ name: 'open' }], Tools: [{ name: 'shut' }] }, { tools: [{ name: 'open' }] }],
    ['tools/list', { tools: 'shut' }, { tools: [] }],
    ['tools/list', { tools: [{ name: { toString: 'open' } }, 'open'] }, { tools: [] }],
    ['prompts/list', { prompts: [{ name: 'shut' }] }, { prompts: [] }],
    [
      'resources/list',
      { resources: [{ uri: 'shut:' }, { uri: 'open:' }] },
      { resources: [{ uri: 'open:' }] },
    ],
    [
      'resources/templates/list',
      { resourceTemplates: [{ uriTemplate: 'shut:{x}' }] },
      { resourceTemplates: [] },
    ],
  ])('of %s contain what may be used', (method, result, expected) => {
    expect(open().answer(method, result)).toEqual(expected);
  });
});

describe('tasks', () => {
  /** Lets a call begin a task, as the middleware around this one sees that. */
  const begin = ({ tasks }: ReturnType<typeof open>, given: object, taskId: string): void => {
    const call = readMessage(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'tool', arguments: given },
      }),
    );
    const message = readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: { taskId } } }));
    tasks?.message({
      workload: 'test',
      principal: ada,
      client: { protocolVersion: '2025-11-25', capabilities: {} },
      direction: 'to client',
      message,
      request: call,
    });
  };

  test('are calls of their tools, with the arguments of the calls', () => {
    const opened = open(({ arguments: given }) => given?.['size'] === 1);
    begin(opened, { size: 1 }, 'small');
    begin(opened, { size: 2 }, 'large');

    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result'])
      expect([
        opened.request(method, { taskId: 'small' }),
        opened.request(method, { taskId: 'large' }),
        opened.request(method, { taskId: 'small' }, { principal: eve }),
        opened.request(method, { taskId: 'other' }),
      ]).toEqual(['passed', 'refused 403', 'refused 403', 'refused 403']);
    expect(opened.asked.at(0)).toMatchObject({ action: 'call_tool', target: 'tool', arguments: { size: 1 } });
    const listed = { tasks: [{ taskId: 'small' }, { taskId: 'large' }, { taskId: 'other' }] };
    expect(opened.answer('tasks/list', listed)).toEqual({ tasks: [{ taskId: 'small' }] });
  });

  test('end for their callers when a policy forbids the calls', () => {
    let isAllowed = true;
    const opened = open(() => isAllowed);
    begin(opened, {}, 'one');

    const before = opened.request('tasks/get', { taskId: 'one' });
    isAllowed = false;

    expect([before, opened.request('tasks/get', { taskId: 'one' })]).toEqual(['passed', 'refused 403']);
  });
});

describe('notifications', () => {
  test('of clients that are not known go no further', () => {
    const { pass } = open();

    expect(pass({ method: 'notifications/cancelled', params: { requestId: 1 } }).kind).toBe('notification');
    expect(pass({ method: 'notifications/execute' }).kind).toBe('refusal');
  });

  test('of servers about resources go to those who may know', () => {
    const { pass } = open();
    const updated = (uri: string): string =>
      pass({ method: 'notifications/resources/updated', params: { uri } }, { direction: 'to client' }).kind;

    expect([updated('open'), updated('shut')]).toEqual(['notification', 'refusal']);
  });
});

test('a denied call is answered with an error that leaves the session of every client intact', async () => {
  await using proxy = await openTestProxy({ authorizer: { isAllowed: ({ target }) => target === 'echo' } });
  await proxy.connect();
  const session = await RawSession.open(proxy.url);

  const denied = await session.postCall(7, 'crash');
  const allowed = await session.call('echo', { message: 'hello' });

  expect(denied.status).toBe(200);
  expect(await denied.json()).toEqual({
    jsonrpc: '2.0',
    id: 7,
    error: {
      code: 403,
      message: 'not authorized: no policy allows call_tool "crash"',
      data: {
        authorization: { reason: 'insufficient_authorization' },
        _meta: { 'io.toolhive/denial': { reason: 'policy', action: 'call_tool', target: 'crash' } },
      },
    },
  });
  expect(allowed).toContain('hello');
});

test.each([
  ['a name that appears twice', '{"name":"echo","name":"crash"}'],
  ['a name that appears twice, in another case', '{"name":"echo","Name":"crash"}'],
  ['a name that is written with an escape', '{"name":"echo","n\\u0061me":"crash"}'],
  ['arguments in another case', '{"name":"echo","Arguments":{"message":"hello"}}'],
  ['arguments with a long s', '{"name":"echo","argument\\u017f":{"message":"hello"}}'],
])('a call that can be read in two ways is refused: %s', async (_what, params) => {
  await using proxy = await openTestProxy({ authorizer: { isAllowed: ({ target }) => target === 'echo' } });
  await proxy.connect();
  const session = await RawSession.open(proxy.url);

  const answer = await session.postText(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);

  expect(await answer.json()).toMatchObject({ error: { code: -32600 } });
});

test('a batch is decided message by message', async () => {
  await using proxy = await openTestProxy({ authorizer: { isAllowed: ({ target }) => target === 'echo' } });
  await proxy.connect();
  const session = new RawSession(proxy.url);
  const begun = await session.post({
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-03-26' },
  });
  session.id = begun.headers.get('mcp-session-id') ?? '';
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: { message: 'hello' } },
  });

  const answer = await session.postText(JSON.stringify([call(1, 'echo'), call(2, 'environment')]));

  const answers = (await answer.json()) as { id: number }[];
  expect(answers.toSorted((a, b) => a.id - b.id)).toMatchObject([
    { id: 1, result: { content: [{ text: 'hello' }] } },
    { id: 2, error: { code: 403 } },
  ]);
});

test('a denied tool stays denied under the name that the workload gives it', async () => {
  await using proxy = await openTestProxy({
    authorizer: { isAllowed: ({ target }) => target === 'echo' },
    tools: { overrides: { environment: { name: 'echo' }, echo: { name: 'say' } } },
  });
  await proxy.connect();
  const session = await RawSession.open(proxy.url);

  const call = (id: number, name: string) => session.postCall(id, name, { message: 'hello' });
  const answers = [];
  for (const [id, name] of ['echo', 'environment', 'say'].entries())
    answers.push(await (await call(id, name)).json());

  expect(answers).toMatchObject([
    { error: { code: 403 } },
    { error: { code: -32602 } },
    { result: { content: [{ text: 'hello' }] } },
  ]);
});

describe('extensions', () => {
  const skills = 'io.modelcontextprotocol/skills';

  test.each(['initialize', 'server/discover'])('that no policy can cover are not offered: %s', (method) => {
    const { answer } = open();

    const result = answer(method, {
      serverInfo: { name: 'x' },
      capabilities: {
        tools: {},
        extensions: { [skills]: { directoryRead: true }, 'com.example/payments': {} },
      },
    });

    expect(result).toEqual({
      serverInfo: { name: 'x' },
      capabilities: { tools: {}, extensions: { [skills]: { directoryRead: true } } },
    });
  });

  test('their lists contain what the caller may use', () => {
    const { answer } = open();

    expect(
      answer('skills/list', { skills: [{ uri: 'skill://open/SKILL.md' }, { uri: 'skill://shut/SKILL.md' }] }),
    ).toEqual({ skills: [{ uri: 'skill://open/SKILL.md' }] });
    expect(
      answer('resources/directory/read', {
        resources: [{ uri: 'skill://open/a.md' }, { uri: 'skill://shut/a.md' }],
      }),
    ).toEqual({ resources: [{ uri: 'skill://open/a.md' }] });
  });

  test('their unknown methods are refused with a reason', () => {
    const outcome = open().pass({ id: 1, method: 'payments/start', params: {} });

    expect(outcome).toMatchObject({
      kind: 'refusal',
      code: 403,
      message: 'not authorized: no policy can cover the method payments/start',
      data: { _meta: { 'io.toolhive/denial': { reason: 'unknown_method' } } },
    });
  });
});

describe('a long list', () => {
  const things = ['open1', 'shut', 'open2'];
  const list = { tools: things.map((name) => ({ name, inputSchema: { type: 'object' } })) };

  /** Decides about a message with policies that take long for each thing, and notes what happens. */
  async function passSlowly(message: object, more: Partial<CallContext>) {
    const happened: string[] = [];
    const isAllowed: Authorizer['isAllowed'] = ({ target }) => {
      const startedMs = performance.now();
      while (performance.now() - startedMs < 5);
      happened.push(target);
      return target.includes('open');
    };
    setImmediate(() => happened.push('something else'));
    const outcome = await authorization({ authorizer: { isAllowed } })?.message?.({
      workload: 'test',
      principal: ada,
      client: { protocolVersion: '2026-07-28', capabilities: {} },
      direction: 'to server',
      message: readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })),
      ...more,
    });
    return { outcome, happened };
  }

  test('of a server is filtered while everything else goes on', async () => {
    const request = readMessage('{"jsonrpc":"2.0","id":1,"method":"tools/list"}');

    const { outcome, happened } = await passSlowly({ result: list }, { direction: 'to client', request });

    expect(outcome).toMatchObject({ value: { result: { tools: [{ name: 'open1' }, { name: 'open2' }] } } });
    expect(happened).toEqual(['open1', 'something else', 'shut', 'open2']);
  });

  test('of a client is examined up to what is refused while everything else goes on', async () => {
    const params = { notifications: { resourceSubscriptions: things.map((name) => `a:${name}`) } };

    const { outcome, happened } = await passSlowly({ method: 'subscriptions/listen', params }, {});

    expect(outcome).toMatchObject({ kind: 'refusal', code: 403 });
    expect(happened).toEqual(['a:open1', 'something else', 'a:shut']);
  });
});

test('only the hints of a tool are remembered, because a server writes annotations of any size', () => {
  const { answer, request, asked } = open();
  const annotations = { readOnlyHint: true, title: 'x', extra: ['y'], idempotentHint: 'z' };

  answer('tools/list', { tools: [{ name: 'open', annotations }] });
  request('tools/call', { name: 'open' });

  expect(asked.at(-1)?.annotations).toEqual({ readOnlyHint: true });
});
