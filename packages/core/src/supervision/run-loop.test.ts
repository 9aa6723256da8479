import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { unsupported } from '@toolhive/contract/failure';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { MemoryServer } from '@toolhive/runtime/memory';
import { formatSource } from '@toolhive/runtime/source';
import type { Instance } from '@toolhive/runtime/runtime';
import { memoryTestServers, testServersSource } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import { launchParts } from '../testing/launch-parts.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { launchOf } from './launch.ts';
import { RuntimeAway, runServer } from './run-loop.ts';
import type { RunEvent, RunOptions, StartedServer } from './run-loop.ts';
import { openProxy } from './open-proxy.ts';

const timing = { firstBackoffMs: 5, maxBackoffMs: 20, maxAwayMs: 10, firstAttempts: 3, settledMs: 60_000 };

test('runs a server until the signal aborts, and leaves nothing of it', async () => {
  const instances: Instance[] = [];
  const loop = startLoop({ startServer: starting('echo', instances) });
  await loop.until((event) => event.kind === 'running');
  const port = await loop.port();

  await loop[Symbol.asyncDispose]();

  expect(loop.events).toEqual([
    { kind: 'running', id: instances[0]?.id, generation: 'legacy', afterMs: expect.any(Number) },
  ]);
  expect(await instances[0]?.exited).toMatchObject({ signal: 'SIGTERM' });
  expect(await isOpen(port)).toBe(false);
});

test('starts a server that ended again, behind the same port', async () => {
  const instances: Instance[] = [];
  await using loop = startLoop({ startServer: starting('echo', instances) });
  await loop.until((event) => event.kind === 'running');

  await callTool(await loop.port(), 'crash');
  await loop.until((event) => event.kind === 'running', 2);

  expect(loop.events).toMatchObject([
    { kind: 'running' },
    { kind: 'failed', retryInMs: 5, failure: { hasEnded: true, reason: 'the server exited with code 1' } },
    { kind: 'starting', attempt: 2 },
    { kind: 'running' },
  ]);
  expect(instances).toHaveLength(2);
  expect(loop.opened).toBe(1);
});

test('gives up on a server that never worked, and tells clients why on its port', async () => {
  await using loop = startLoop({ startServer: starting('exit-at-once', []) });

  await loop.until((event) => event.kind === 'failed' && event.retryInMs === undefined);

  expect(loop.waits).toEqual([5, 10, undefined]);
  const health = await fetch(`http://127.0.0.1:${await loop.port()}/health`);
  expect(await health.text()).toContain('exited with code 3');
});

test('tries a server that has worked without a limit, with waits that grow up to the maximum', async () => {
  await using loop = startLoop({ hasWorked: true, startServer: starting('exit-at-once', []) });

  await loop.until((event) => event.kind === 'failed', 5);

  expect(loop.waits).toEqual([5, 10, 20, 20, 20]);
});

test('tells clients at once why a server ended when the next attempt is far away', async () => {
  await using loop = startLoop({
    hasWorked: true,
    startServer: starting('exit-at-once', []),
    timing: { ...timing, firstBackoffMs: 60_000, maxBackoffMs: 60_000 },
  });
  await loop.until((event) => event.kind === 'failed');

  const answer = await callTool(await loop.port(), 'echo');

  expect(await answer.text()).toContain('it exited with code 3 (next attempt in 60 s)');
});

test('does not give up on a server once it has answered', async () => {
  const startWorking = starting('echo', []);
  const startFailing = starting('exit-at-once', []);
  let starts = 0;
  const startServer: RunOptions['startServer'] = (...given) =>
    (starts++ === 0 ? startWorking : startFailing)(...given);
  await using loop = startLoop({ startServer });
  await loop.until((event) => event.kind === 'running');

  await callTool(await loop.port(), 'crash');
  await loop.until((event) => event.kind === 'failed', timing.firstAttempts + 2);

  expect(loop.waits).toEqual([5, 10, 20, 20, 20]);
});

test('begins with the first wait again after the server has run for long', async () => {
  const startServer = starting('exit-at-once', []);
  await using loop = startLoop({
    hasWorked: true,
    startServer,
    timing: { ...timing, settledMs: 0 },
  });

  await loop.until((event) => event.kind === 'failed', 3);

  expect(loop.waits).toEqual([5, 5, 5]);
});

test('does not retry what cannot work the next time either', async () => {
  const startServer = (): Promise<StartedServer> => Promise.reject(unsupported('no such network'));
  await using loop = startLoop({ hasWorked: true, startServer });

  await loop.until((event) => event.kind === 'failed');

  expect(loop.events).toMatchObject([
    { kind: 'failed', retryInMs: undefined, failure: { hasEnded: false, reason: 'no such network' } },
  ]);
});

test('starts a server that has never worked when its runtime is available at last', async () => {
  const start = starting('echo', []);
  let away = timing.firstAttempts + 2;
  const startServer = (...given: Parameters<typeof start>): Promise<StartedServer> =>
    (away -= 1) < 0 ? start(...given) : Promise.reject(new RuntimeAway('unavailable', 'no engine'));
  await using loop = startLoop({ startServer });

  await loop.until((event) => event.kind === 'running');

  const waits = loop.events.flatMap((event) => (event.kind === 'failed' ? [event.retryInMs] : []));
  expect(waits).toEqual([5, 10, 10, 10, 10]);
});

test('retries a proxy port that is in use', async () => {
  await using first = startLoop({ startServer: starting('echo', []) });
  const port = await first.port();
  await using second = startLoop({ hasWorked: true, startServer: starting('echo', []) }, port);
  await second.until((event) => event.kind === 'failed');

  await first[Symbol.asyncDispose]();
  await second.until((event) => event.kind === 'running');

  expect(second.events[0]).toMatchObject({
    failure: { reason: `port ${port} of workload echo is in use by another program` },
  });
});

test('stops a server that does not answer in time', async () => {
  const instances: Instance[] = [];
  const startServer = starting('silent', instances, 10);
  await using loop = startLoop({ startServer });

  await loop.until((event) => event.kind === 'failed');

  expect(loop.events[0]).toMatchObject({
    failure: { hasEnded: false, reason: 'the server did not answer initialize within 0.01 seconds' },
  });
  expect(await instances[0]?.exited).toBeDefined();
});

test('waits longer for a server that did not answer in time before', async () => {
  const endless = { ...timing, firstAttempts: 4 };
  await using loop = startLoop({ startServer: starting('silent', [], 10), timing: endless });

  await loop.until((event) => event.kind === 'failed' && event.retryInMs === undefined);

  expect(loop.events.flatMap((event) => (event.kind === 'failed' ? event.failure.reason : []))).toEqual(
    ['0.01', '0.02', '0.04', '0.04'].map(
      (seconds) => `the server did not answer initialize within ${seconds} seconds`,
    ),
  );
});

test('stops a server that the proxy complains about, and starts it again', async () => {
  await using loop = startLoop({ startServer: starting('echo', []) });
  await loop.until((event) => event.kind === 'running');

  loop.onExcess('was stopped because it sent too much');
  await loop.until((event) => event.kind === 'running', 2);

  expect(loop.events[1]).toMatchObject({
    failure: { hasEnded: true, reason: 'the server was stopped because it sent too much' },
  });
});

test('continues only when an event was recorded', async () => {
  const recorded = Promise.withResolvers<void>();
  const instances: Instance[] = [];
  await using loop = startLoop({
    startServer: starting('exit-at-once', instances),
    onEvent: () => recorded.promise,
  });
  await loop.until((event) => event.kind === 'failed');

  const before = instances.length;
  recorded.resolve();
  await loop.until((event) => event.kind === 'failed', 2);

  expect([before, instances.length]).toEqual([2, 3]);
});

test.each<[string, (method: string, count: number) => boolean]>([
  ['expects initialize', (method, count) => count === 1 && method !== 'initialize'],
  ['does not know the message', (method) => method === 'server/discover'],
])('starts a server at once again that ends because its first message %s', async (_what, isFatal) => {
  const instances: Instance[] = [];
  const startServer = starting('any', instances, 5_000, endingAt(isFatal));
  await using loop = startLoop({ startServer });

  await loop.until((event) => event.kind === 'running');

  expect(loop.events).toMatchObject([{ kind: 'running', generation: 'legacy' }]);
  expect(instances).toHaveLength(2);
});

test('reports a server that ends at every first message, and starts it at once only once', async () => {
  const instances: Instance[] = [];
  const startServer = starting(
    'any',
    instances,
    5_000,
    endingAt(() => true),
  );
  await using loop = startLoop({ startServer });

  await loop.until((event) => event.kind === 'failed' && event.retryInMs === undefined);

  expect(loop.waits).toEqual([5, 10, undefined]);
  expect(instances).toHaveLength(timing.firstAttempts + 1);
});

test('reports a server that ends when its client lists the tools', async () => {
  const startServer = starting(
    'any',
    [],
    5_000,
    endingAt((method) => method === 'tools/list'),
  );
  await using loop = startLoop({ startServer });

  await loop.until((event) => event.kind === 'failed');

  expect(loop.events[0]).toMatchObject({ failure: { reason: 'the server exited with code 4' } });
});

test('counts a server as running whose list is an error, and says so', async () => {
  const reported: string[] = [];
  const startServer = starting(
    'any',
    [],
    5_000,
    endingAt(() => false),
  );
  await using loop = startLoop({ startServer, report: (message) => void reported.push(message) });

  await loop.until((event) => event.kind === 'running');

  expect(loop.events).toMatchObject([{ kind: 'running' }]);
  expect(reported).toContain('the server refused tools/list: not known');
});

/** A legacy server whose lists are errors, and that ends at a message. */
function endingAt(isFatal: (method: string, count: number) => boolean): MemoryServer {
  return async ({ input, output, exit }) => {
    let count = 0;
    for await (const line of createInterface({ input })) {
      const { id, method } = JSON.parse(line) as { id?: number; method: string };
      count += 1;
      if (isFatal(method, count)) return exit(4);
      if (id === undefined) continue;
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'picky', version: '1' },
      };
      const error = { code: -32601, message: 'not known' };
      const content = method === 'initialize' ? { result } : { error };
      output.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...content })}\n`);
    }
  };
}

/** Starts one of the test servers in memory, or another one. */
function starting(
  manners: string,
  instances: Instance[],
  firstAnswerMs = 5_000,
  server?: MemoryServer,
): RunOptions['startServer'] {
  const servers =
    server === undefined ? memoryTestServers : new Map([[formatSource(testServersSource), server]]);
  const runtime = openMemoryRuntime(servers);
  const launch = {
    ...launchOf(aRunConfig({ cmd_args: [manners] }), launchParts),
    source: testServersSource,
  };
  return async (_report, signal) => {
    const instance = await runtime.start(launch, signal);
    instances.push(instance);
    return {
      id: instance.id,
      server: instance,
      startAnother: (stop) => runtime.start(launch, stop),
      ended: instance.exited.then(({ code }) => `exited with code ${code}`),
      stop: () => instance.stop(100),
      firstAnswerMs,
    };
  };
}

/** A run loop with a real proxy, and what it has told so far. */
class Loop implements AsyncDisposable {
  readonly events: RunEvent[] = [];
  opened = 0;
  onExcess = (_reason: string): void => {};
  readonly #stop = new AbortController();
  readonly #proxy = Promise.withResolvers<WorkloadProxy>();
  readonly #ended: Promise<void>;
  #wake = Promise.withResolvers<void>();

  constructor(options: Partial<RunOptions> & Pick<RunOptions, 'startServer'>, port: number) {
    this.#ended = runServer({
      timing,
      hasWorked: false,
      report: () => {},
      ...options,
      openProxy: async (onExcess) => {
        const proxy = await openProxy(aRunConfig({ port, sessions: 'shared' }), {
          version: 'v0.0.0-test',
          onExcess,
          onFault: () => {},
          onInvalidOutput: () => {},
        });
        this.opened += 1;
        this.onExcess = onExcess;
        this.#proxy.resolve(proxy);
        return proxy;
      },
      onEvent: async (event) => {
        this.events.push(event);
        this.#wake.resolve();
        await options.onEvent?.(event);
      },
      signal: this.#stop.signal,
    });
  }

  /** The waits after the failures so far. */
  get waits(): (number | undefined)[] {
    return this.events.flatMap((event) => (event.kind === 'failed' ? [event.retryInMs] : []));
  }

  async port(): Promise<number> {
    return (await this.#proxy.promise).port;
  }

  async until(isIt: (event: RunEvent) => boolean, times = 1): Promise<void> {
    while (this.events.filter(isIt).length < times) {
      this.#wake = Promise.withResolvers<void>();
      await this.#wake.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

function startLoop(options: Partial<RunOptions> & Pick<RunOptions, 'startServer'>, port = 0): Loop {
  return new Loop(options, port);
}

function callTool(port: number, name: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  });
}

async function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port });
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const result = await promise;
  socket.destroy();
  return result;
}
