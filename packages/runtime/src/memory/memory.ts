import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { notFound, unsupported } from '@toolhive/contract/failure';
import type { Exit, Instance, Launch, PrepareOptions, Runtime, RuntimeReport } from '../runtime.ts';
import { requireSecrets } from '../secrets.ts';
import { formatSource } from '../source.ts';
import type { ServerSource } from '../source.ts';

/** A server as a function: what `main.js` of the test servers gives it, streams instead of a process. */
export type MemoryServer = (world: MemoryWorld) => Promise<void>;

export interface MemoryWorld {
  args: string[];
  env: Record<string, string>;
  input: PassThrough;
  output: PassThrough;
  error: PassThrough;
  exit: (code: number) => void;
  ignoreTermination: () => void;
  /** Settles when the server is to be gone; a process would not notice, this one has to clean up. */
  ended: Promise<unknown>;
}

/**
 * Runs servers inside the daemon's own process. It isolates nothing and is for tests of everything above a
 * runtime: it starts in no time and keeps every promise that can be kept without a machine.
 */
export function openMemoryRuntime(servers: ReadonlyMap<string, MemoryServer>): Runtime {
  const known = (source: ServerSource): MemoryServer => {
    const server = servers.get(formatSource(source));
    if (server === undefined) throw notFound(`${formatSource(source)} not found`);
    return server;
  };
  return {
    name: 'memory',
    mountsByPath: false,
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
  // A server that goes on after its end writes into nothing, as a killed process would not write at all.
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
    // It shares a process with everything else here.
    usage: async () => {
      const { user, system } = process.cpuUsage();
      return { memoryBytes: process.memoryUsage.rss(), cpuMs: (user + system) / 1000, processes: 1 };
    },
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  };
}
