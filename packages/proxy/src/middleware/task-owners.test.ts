import { describe, expect, test } from 'vitest';
import { readMessage } from '../jsonrpc/message.ts';
import type { CallContext, Principal } from './middleware.ts';
import { taskOwners } from './task-owners.ts';
import type { TaskOwnersOptions } from './task-owners.ts';

const ada: Principal = { id: 'ada' };
const eve: Principal = { id: 'eve' };
const related = 'io.modelcontextprotocol/related-task';
const keys = [Buffer.alloc(32, 1)];

/** Passes messages, and returns what has become of them. */
function open(options: TaskOwnersOptions = {}) {
  const owners = taskOwners({ access: {}, workload: 'w', taskKeys: () => keys, ...options });
  if (owners === undefined) throw new Error('there are several principals');
  const pass = (message: object, more: Partial<CallContext>): unknown => {
    const outcome = owners.message({
      workload: 'w',
      principal: ada,
      client: { protocolVersion: '2025-11-25', capabilities: {} },
      direction: 'to server',
      message: readMessage(JSON.stringify({ jsonrpc: '2.0', ...message })),
      ...more,
    });
    return outcome.kind === 'refusal'
      ? `refused ${outcome.code}: ${outcome.message}`
      : JSON.parse(outcome.text);
  };
  const answer = (method: string, result: object, more: Partial<CallContext> = {}): unknown => {
    const request = readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name: 'tool' } }));
    return pass({ id: 1, result }, { direction: 'to client', request, ...more });
  };
  const begin = (taskId: string, more: Partial<CallContext> = {}): string => {
    const { result } = answer('tools/call', { task: { taskId } }, more) as {
      result: { task: { taskId: string } };
    };
    return result.task.taskId;
  };
  const request = (method: string, taskId: unknown, more: Partial<CallContext> = {}): unknown =>
    pass({ id: 1, method, params: { taskId } }, more);
  return { owners, pass, answer, begin, request };
}

const reaches = (id: string) => expect.objectContaining({ params: { taskId: id } });
const unknown = 'refused -32602: the task is unknown or has expired';

describe('the ID of a task', () => {
  test('leads its owner to the task, in both forms, and again under the same ID', () => {
    const { begin, answer, request } = open();

    const signed = begin('one');
    const modern = answer('tools/call', { resultType: 'task', taskId: 'two' }) as {
      result: { taskId: string };
    };

    expect(signed).toMatch(/^[\w-]+\.[\w-]+$/);
    expect(begin('one')).toBe(signed);
    expect(request('tasks/get', signed)).toEqual(reaches('one'));
    expect(request('tasks/update', modern.result.taskId)).toEqual(reaches('two'));
    expect(answer('tasks/get', { taskId: 'one', status: 'working' })).toMatchObject({
      result: { taskId: signed },
    });
  });

  test.each([
    ['the ID of the server', () => 'one'],
    ['no ID', () => undefined],
    ['a number', () => 1],
    ['a changed signature', (signed: string) => `${signed.slice(0, -2)}xx`],
    ['no signature', (signed: string) => signed.split('.')[0]],
    ['an empty signature', (signed: string) => `${signed.split('.')[0]}.`],
    ['something behind it', (signed: string) => `${signed}.x`],
    [
      'another task',
      (signed: string) => `${Buffer.from('["two","tool"]').toString('base64url')}.${signed.split('.')[1]}`,
    ],
  ])('with %s is unknown, as it is for any other principal', (_what, change) => {
    const { begin, request } = open();
    const signed = begin('one');
    begin('two');

    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result'])
      expect([request(method, change(signed)), request(method, signed, { principal: eve })]).toEqual([
        unknown,
        unknown,
      ]);
  });

  test('is valid in the next proxy of the same workload with the same key, and nowhere else', () => {
    const signed = open().begin('one');

    expect(open().request('tasks/get', signed)).toEqual(reaches('one'));
    expect(open({ taskKeys: () => [Buffer.alloc(32, 2), ...keys] }).request('tasks/get', signed)).toEqual(
      reaches('one'),
    );
    expect(open().request('tasks/get', signed, { principal: eve })).toBe(unknown);
    expect(open({ workload: 'other' }).request('tasks/get', signed)).toBe(unknown);
    expect(open({ taskKeys: undefined }).request('tasks/get', signed)).toBe(unknown);
  });

  test('can be the same in two sessions, whose processes know nothing of each other', () => {
    const { begin, request } = open();
    const one = begin('1', { session: 'a' });
    const two = begin('1', { session: 'b', principal: eve });

    expect(request('tasks/get', one, { session: 'a' })).toEqual(reaches('1'));
    expect(request('tasks/get', two, { session: 'b', principal: eve })).toEqual(reaches('1'));
    expect(request('tasks/get', one, { session: 'b', principal: eve })).toBe(unknown);
  });

  test('cannot be given to another principal by the server', () => {
    const { begin, answer, request } = open();
    const signed = begin('one');

    expect(answer('tools/call', { task: { taskId: 'one' } }, { principal: eve })).toBe(
      'refused -32000: the server has given the task the ID of another one',
    );
    expect(request('tasks/get', signed)).toEqual(reaches('one'));
  });

  test('of an enormous length is refused', () => {
    const { answer } = open();

    expect(answer('tools/call', { task: { taskId: 'x'.repeat(5_000) } })).toMatch(/too long/);
  });
});

test('lists contain the tasks of their caller', () => {
  const { begin, answer } = open();
  const signed = begin('one');
  begin('two', { principal: eve });

  const listed = answer('tasks/list', {
    tasks: [{ taskId: 'one' }, { taskId: 'two' }, { taskId: 'three' }, 'four', {}],
    Tasks: [{ taskId: 'two' }],
    nextCursor: 'c',
  });

  expect(listed).toMatchObject({ result: { tasks: [{ taskId: signed }], nextCursor: 'c' } });
  expect(JSON.stringify(listed)).not.toContain('two');
});

test('notifications go to the owner of their task', () => {
  const { begin, pass } = open();
  const signed = begin('one');
  for (const method of ['notifications/tasks/status', 'notifications/tasks']) {
    const told = (principal: Principal, taskId: string): unknown =>
      pass({ method, params: { taskId } }, { direction: 'to client', principal });

    expect(told(ada, 'one')).toMatchObject({ params: { taskId: signed } });
    expect([told(eve, 'one'), told(ada, 'two'), told(ada, signed)]).toEqual([unknown, unknown, unknown]);
  }
});

test('clients subscribe to their own tasks', () => {
  const { begin, pass } = open();
  const one = begin('one');
  const listen = (taskIds: unknown, principal: Principal, more = {}): unknown =>
    pass(
      {
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { taskIds, toolsListChanged: true, ...more } },
      },
      { principal },
    );

  const acknowledged = pass(
    {
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: ['one', 'two'] } },
    },
    { direction: 'to client' },
  );

  const notifications = { taskIds: ['one'], toolsListChanged: true };
  expect(listen([one, 'two', 7], ada)).toMatchObject({ params: { notifications } });
  expect(listen([one, 'one'], eve)).toMatchObject({ params: { notifications: { taskIds: [] } } });
  expect(listen([one], eve, { TaskIds: ['one'] })).toMatch(/ambiguous/);
  expect(acknowledged).toMatchObject({ params: { notifications: { taskIds: [one] } } });
});

test('messages that belong to a task name it as their reader knows it', () => {
  const { begin, pass, answer } = open();
  const signed = begin('one');
  const _meta = (taskId: string): object => ({ [related]: { taskId } });

  const asked = pass(
    { id: 9, method: 'roots/list', params: { _meta: _meta('one') } },
    { direction: 'to client' },
  );
  const answered = pass({ id: 9, result: { roots: [], _meta: _meta(signed) } }, {});
  const own = pass({ id: 9, result: { roots: [], _meta: _meta('of the client') } }, {});
  const result = answer('tasks/result', { content: [], _meta: _meta('one') });

  expect(asked).toMatchObject({ params: { _meta: _meta(signed) } });
  expect(answered).toMatchObject({ result: { _meta: _meta('one') } });
  expect(own).toMatchObject({ result: { _meta: _meta('of the client') } });
  expect(result).toMatchObject({ result: { _meta: _meta(signed) } });
});

test('a task that names its ID twice is refused', () => {
  const { owners, begin } = open();
  begin('one');
  const message = readMessage('{"jsonrpc":"2.0","id":1,"result":{"taskId":"two","taskId":"one"}}');

  const outcome = owners.message({
    workload: 'w',
    principal: ada,
    client: { protocolVersion: '2025-11-25', capabilities: {} },
    direction: 'to client',
    message,
  });

  expect(outcome).toMatchObject({ kind: 'refusal', message: 'the message has two members taskId' });
});

test('a tool that was withdrawn can no longer be used through its tasks', () => {
  const withdrawn = new Set<string>();
  const pins = {
    version: 1,
    isEnforced: true,
    review: () => Promise.reject(new Error('nothing is listed')),
    refusalOf: (_kind: string, name: string) => (withdrawn.has(name) ? `${name} has changed` : undefined),
    refusalOfFile: () => undefined,
    annotationsOf: () => undefined,
    listedResources: () => [],
  };
  const { begin, request } = open({ pins, tools: { overrides: { real: { name: 'tool' } } } });
  const signed = begin('one');
  const before = request('tasks/get', signed);

  withdrawn.add('real');

  expect([before, request('tasks/get', signed)]).toEqual([
    reaches('one'),
    'refused -32602: real has changed',
  ]);
});

test('callers without authentication and policies share everything', () => {
  expect(taskOwners({})).toBeUndefined();
});
