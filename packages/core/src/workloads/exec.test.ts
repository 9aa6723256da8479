import { createInterface } from 'node:readline';
import type { ExecEvent } from '@toolhive/contract/exec';
import { openTestApi } from '@toolhive/api/testing';
import type { TestApi } from '@toolhive/api/testing';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { MemoryServer } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { testServer } from '../testing/test-core.ts';

// A program of a workload that runs once, in place of its server.

const params = { name: 'mail' };

/** The test servers, which need a token that their command `auth` asks for. */
function signingIn(): ReadonlyMap<string, MemoryServer> {
  let token: string | undefined;
  const [[source = '', server] = []] = memoryTestServers;
  return new Map([
    [
      source,
      async (world) => {
        if (world.args[0] === 'auth') {
          world.error.write('open the page\n');
          world.output.write('Code: ');
          for await (const line of createInterface({ input: world.input })) {
            token = line;
            world.output.write(`stored ${line}\n`);
            return world.exit(0);
          }
          return world.exit(3);
        }
        if (world.args[0] === 'hangs') {
          world.output.write('waiting\n');
          return;
        }
        if (token === undefined) return world.exit(1);
        return server?.(world);
      },
    ],
  ]);
}

const open = (log = pino({ level: 'silent' }), changes: Partial<Runtime> = {}): Promise<TestApi> =>
  openTestApi({ log, runtimes: () => [{ ...openMemoryRuntime(signingIn()), ...changes }] });

/** Creates a workload that fails without a token. */
async function failed(api: TestApi): Promise<void> {
  await api.post('/api/v1beta/workloads', {
    name: params.name,
    image: testServer,
    cmd_arguments: ['echo'],
  });
  await api.core.workloads
    .require(params.name)
    .follow(() => {})
    .catch(() => {});
}

async function* execute(api: TestApi, ...args: string[]): AsyncGenerator<ExecEvent, void, void> {
  for await (const { event } of await api.client.execWorkload({ params, body: { args } })) yield event;
}

/** Leaves a program that hangs once it has started. Rejects because the caller has left. */
async function leaveAfterStart(api: TestApi): Promise<void> {
  const leaving = new AbortController();
  const body = { args: ['hangs'] };
  const events = await api.client.execWorkload({ params, body }, { signal: leaving.signal });
  for await (const { event } of events) if (event.type === 'started') leaving.abort();
}

/** Reads events up to the first one of a type, and returns all of them. */
async function upTo(events: AsyncGenerator<ExecEvent>, type: ExecEvent['type']): Promise<ExecEvent[]> {
  const read: ExecEvent[] = [];
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) return read;
    read.push(value);
    if (value.type === type) return read;
  }
}

describe('a program in place of the server', () => {
  test('reads the input of its caller, and then the server runs', async () => {
    await using api = await open();
    await failed(api);
    const events = execute(api, 'auth');

    await upTo(events, 'started');
    await api.client.sendExecInput({ params, body: { text: '1234\n' } });
    const rest = await Array.fromAsync(events);
    await api.core.workloads.require('mail').follow(() => {});

    const texts = rest.flatMap((event) => (event.type === 'output' ? event.text : []));
    expect(texts.join('')).toContain('stored 1234');
    expect(rest.at(-1)).toEqual({ type: 'ended', exit_code: 0, reason: 'exited with code 0', starts: true });
    expect((await api.client.getWorkloadStatus({ params })).status).toBe('running');
  });

  test('gets the end of its input, and its exit code is told', async () => {
    await using api = await open();
    await failed(api);
    const events = execute(api, 'auth');

    await upTo(events, 'started');
    await api.client.sendExecInput({ params, body: { end: true } });

    expect((await Array.fromAsync(events)).at(-1)).toMatchObject({ type: 'ended', exit_code: 3 });
  });

  test('leaves its output in no log', async () => {
    await using api = await open();
    await failed(api);
    const events = execute(api, 'auth');
    await upTo(events, 'started');
    await api.client.sendExecInput({ params, body: { text: 'a-credential\n' } });
    await Array.fromAsync(events);

    const logs = await Promise.all([
      api.client.getWorkloadLogs({ params, query: {} }),
      api.client.getProxyLogs({ params, query: {} }),
    ]);

    expect(logs.join('')).not.toContain('a-credential');
  });

  test('of a stopped workload leaves the workload stopped', async () => {
    await using api = await open();
    await failed(api);
    await api.client.stopWorkload({ params }, { onProgress: () => {} });
    const events = execute(api, 'auth');

    await upTo(events, 'started');
    await api.client.sendExecInput({ params, body: { text: '1\n' } });

    expect((await Array.fromAsync(events)).at(-1)).toMatchObject({ type: 'ended', starts: false });
    expect((await api.client.getWorkloadStatus({ params })).status).toBe('stopped');
  });

  test.each(['stopWorkload', 'deleteWorkload', 'restartWorkload'] as const)(
    'is ended by %s',
    async (operation) => {
      await using api = await open();
      await failed(api);
      const events = execute(api, 'hangs');
      await upTo(events, 'started');

      await api.client[operation]({ params });

      expect((await Array.fromAsync(events)).at(-1)).toMatchObject({ type: 'failed', kind: 'cancelled' });
    },
  );

  test('of a stopped workload is ended by a stop', async () => {
    await using api = await open();
    await failed(api);
    await api.client.stopWorkload({ params }, { onProgress: () => {} });
    const events = execute(api, 'hangs');
    await upTo(events, 'started');

    await api.client.stopWorkload({ params });

    expect((await Array.fromAsync(events)).at(-1)).toMatchObject({ type: 'failed', kind: 'cancelled' });
    expect((await api.client.getWorkloadStatus({ params })).status).toBe('stopped');
  });

  test('ends when its caller leaves, which is no error, and the server is tried again', async () => {
    const errors: string[] = [];
    await using api = await open(
      pino({ level: 'error' }, { write: (line: string) => void errors.push(line) }),
    );
    await failed(api);

    await expect(leaveAfterStart(api)).rejects.toThrow();
    await expect(api.core.workloads.require('mail').follow(() => {})).rejects.toThrow('exited with code 1');
    await expect(api.client.sendExecInput({ params, body: { text: 'x' } })).rejects.toMatchObject({
      kind: 'conflict',
    });
    expect(errors).toEqual([]);
  });

  test('is ended when it stores too much in the home directory', async () => {
    const { homes } = openMemoryRuntime(signingIn());
    const measure = async () => ({ place: '/home/mail', bytes: 1e15, isEmpty: false });
    await using api = await open(undefined, { homes: { ...homes, measure } });
    await failed(api);
    await api.client.stopWorkload({ params }, { onProgress: () => {} });

    const events = await Array.fromAsync(execute(api, 'hangs'));

    expect(events.at(-1)).toMatchObject({
      type: 'failed',
      kind: 'no-space',
      message: expect.stringContaining('stored more than'),
    });
  });

  test('that cannot be ended keeps the server from starting beside it', async () => {
    const memory = openMemoryRuntime(signingIn());
    const start: Runtime['start'] = async (launch, signal) => {
      const instance = await memory.start(launch, signal);
      const stop = async (graceMs: number): Promise<void> => {
        await instance.stop(graceMs);
        if (launch.args.includes('hangs')) throw new Error('the engine does not answer');
      };
      return { ...instance, stop };
    };
    await using api = await open(undefined, { start });
    await failed(api);

    await expect(leaveAfterStart(api)).rejects.toThrow();
    await expect
      .poll(() => api.core.workloads.require('mail').condition)
      .toMatchObject({ status: 'error', context: expect.stringContaining('internal error') });
  });

  test('is the only one', async () => {
    await using api = await open();
    await failed(api);
    const events = execute(api, 'hangs');
    await upTo(events, 'started');

    await expect(upTo(execute(api, 'auth'), 'started')).rejects.toMatchObject({ kind: 'conflict' });
    await api.client.stopWorkload({ params });
    await Array.fromAsync(events);
  });
});

test('a remote server has no program, and input without a program is refused', async () => {
  await using api = await open();
  await api.post('/api/v1beta/workloads', { name: 'far', url: 'https://mcp.example.com/mcp' });

  const far = { params: { name: 'far' } };
  await expect(api.client.execWorkload({ ...far, body: { args: ['x'] } })).rejects.toMatchObject({
    kind: 'unsupported',
  });
  await expect(api.client.sendExecInput({ ...far, body: { text: 'x' } })).rejects.toMatchObject({
    kind: 'conflict',
  });
});
