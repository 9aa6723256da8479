import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { notFound, unsupported } from '@toolhive/contract/failure';
import type { Exit, Instance, Launch, PrepareOptions, Runtime, RuntimeReport } from '../runtime.ts';
import { requireSecrets } from '../secrets.ts';
import { formatSource } from '../source.ts';
import type { ServerSource } from '../source.ts';

/** A server as a function: equivalent to `main.js` in the test servers, with streams instead of a process. */
export type MemoryServer = (world: MemoryWorld) => Promise<void>;

export interface MemoryWorld {
  args: string[];
  env: Record<string, string>;
  input: PassThrough;
  output: PassThrough;
  error: PassThrough;
  exit: (code: number) => void;
  ignoreTermination: () => void;
  /** Settles when the server must stop. A process would need no notice, but this function must clean up. */
  ended: Promise<unknown>;
}

/**
 * Runs servers inside the daemon's process. It isolates nothing and exists for tests of the layers above a runtime:
 * it starts immediately and keeps every promise that needs no real machine.
 */
export function openMemoryRuntime(servers: ReadonlyMap<string, MemoryServer>): Runtime {
  const known = (source: ServerSource): MemoryServer => {
    const server = servers.get(formatSource(source));
    if (server === undefined) throw notFound(`${formatSource(source)} not found`);
    return server;
  };
  return {
    name: 'memory',
    capabilities: {
      runs: 'images',
      runsBundles: false,
      publishesPorts: false,
      recordsIsolation: false,
      mountsByPath: false,
    },
    homes: { exists: async () => false, measure: async () => undefined, remove: async () => {} },
    async check(): Promise<RuntimeReport> {
      return {
        runtime: 'memory',
        available: true,
        detail: `${servers.size} servers in this process`,
        limits: [{ concerns: 'every server', text: 'nothing is isolated' }],
      };
    },
    async prepare(source: ServerSource, { signal }: PrepareOptions): Promise<ServerSource> {
      signal.throwIfAborted();
      known(source);
      return source;
    },
    async start(launch: Launch, signal: AbortSignal): Promise<Instance> {
      signal.throwIfAborted();
      requireSecrets(launch);
      if (launch.privileged) throw unsupported('the memory runtime has no privileges to give');
      return startInMemory(known(launch.source), launch);
    },
    async sweep() {},
  };
}

let instances = 0;

function startInMemory(server: MemoryServer, launch: Launch): Instance {
  const { promise: exited, resolve } = Promise.withResolvers<Exit>();
  const streams = { input: new PassThrough(), output: new PassThrough(), error: new PassThrough() };
  let ignoresTermination = false;
  const end = (exit: Exit): void => {
    resolve(exit);
    for (const stream of Object.values(streams)) stream.end();
  };
  // Output after the end is discarded, because a killed process would not write.
  for (const stream of Object.values(streams)) stream.on('error', () => {});
  streams.error.on('data', launch.log);
  if (launch.transport.kind === 'http') streams.output.on('data', launch.log);
  const world: MemoryWorld = {
    ...streams,
    args: [...launch.args],
    env: { ...launch.env, ...launch.secrets, MCP_HOST: '127.0.0.1' },
    exit: (code) => end({ code, signal: null }),
    ignoreTermination: () => (ignoresTermination = true),
    ended: exited,
  };
  void server(world).catch(() => end({ code: 1, signal: null }));

  const stop = async (graceMs: number): Promise<void> => {
    streams.input.end();
    if (ignoresTermination) await Promise.race([exited, delay(graceMs, undefined, { ref: false })]);
    end({ code: null, signal: ignoresTermination ? 'SIGKILL' : 'SIGTERM' });
    await exited;
  };
  return {
    id: `memory-${++instances}`,
    exited,
    ...(launch.transport.kind === 'stdio'
      ? { stdio: { input: streams.input, output: streams.output } }
      : { address: { kind: 'tcp', host: '127.0.0.1', port: launch.transport.targetPort } }),
    // The server shares a process with everything else.
    usage: async () => {
      const { user, system } = process.cpuUsage();
      return { memoryBytes: process.memoryUsage.rss(), cpuMs: (user + system) / 1000, processes: 1 };
    },
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  };
}
