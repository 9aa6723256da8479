import type { Child } from './child.ts';
import { Load } from './load.ts';
import { inTurns, median, quantile } from './statistics.ts';

/** A server that listens on a port. */
export type PortChild = Child<{ port: number; token?: string | undefined }>;

const connectionCount = 32;
/**
 * A daemon runs for days, so its speed is the one after compilation. V8 counts calls, not time: the processor time of a
 * request falls over the first 40,000 requests, for a server that does little as for one that does much.
 */
const warmUpRequests = 50_000;
const warmUpMs = 500;
/** Many short rounds instead of a few long ones, because other load on the machine changes within seconds. */
const rounds = 24;
const roundMs = 400;

/** How fast one server was, medians over the rounds. */
export interface Throughput {
  requestsPerSecond: number;
  /** Processor time of the server's process for one request. */
  cpuMicroseconds: number;
}

/**
 * Puts servers under full load in turns. Processor time counts most: with few processors the load generator and
 * the server behind a proxy share the processors.
 */
export async function compareThroughput<Name extends string>(
  servers: Record<Name, PortChild>,
  signal: AbortSignal,
): Promise<Record<Name, Throughput>> {
  using opened = new DisposableStack();
  const measured = await inTurns(
    rounds,
    await mapValues(servers, async (server) => {
      const load = opened.use(await Load.open(server.ready.port, connectionCount, server.ready.token));
      for (let asked = 0; asked < warmUpRequests && !signal.aborted;)
        asked += (await load.run(warmUpMs)).requests;
      return async () => {
        const before = await server.usage();
        const { requests, ms } = await load.run(roundMs);
        const after = await server.usage();
        return { rate: (requests / ms) * 1000, cpu: ((after.cpuMs - before.cpuMs) / requests) * 1000 };
      };
    }),
    signal,
  );
  return mapValues(measured, async (values) => ({
    requestsPerSecond: median(values.map(({ rate }) => rate)),
    cpuMicroseconds: median(values.map(({ cpu }) => cpu)),
  }));
}

/** The response time of one server without other requests. Medians of all rounds. */
export interface Latency {
  p50Ms: number;
  p99Ms: number;
}

/** Asks servers one request at a time, in turns. */
export async function compareLatency<Name extends string>(
  servers: Record<Name, PortChild>,
  signal: AbortSignal,
): Promise<Record<Name, Latency>> {
  using opened = new DisposableStack();
  const rounds = await inTurns(
    8,
    await mapValues(servers, async (server) => {
      const load = opened.use(await Load.open(server.ready.port, 1, server.ready.token));
      await load.run(warmUpMs);
      return async () => {
        const { latenciesMs } = await load.run(500);
        return { p50: quantile(latenciesMs, 0.5), p99: quantile(latenciesMs, 0.99) };
      };
    }),
    signal,
  );
  return mapValues(rounds, async (values) => ({
    p50Ms: median(values.map(({ p50 }) => p50)),
    p99Ms: median(values.map(({ p99 }) => p99)),
  }));
}

async function mapValues<Name extends string, From, To>(
  record: Record<Name, From>,
  change: (value: From) => Promise<To>,
): Promise<Record<Name, To>> {
  const entries: [string, To][] = [];
  for (const [name, value] of Object.entries<From>(record)) entries.push([name, await change(value)]);
  return Object.fromEntries(entries) as Record<Name, To>; // the same names
}
