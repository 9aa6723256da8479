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
const rounds = 8;
const roundMs = 400;
/**
 * How often each server is started. V8 optimizes each process differently, so that the same program takes up to a third
 * more processor time in one process than in another one.
 */
const generations = 3;

/** How fast one server was, medians over the rounds. */
export interface Throughput {
  requestsPerSecond: number;
  /** Processor time of the server's process for one request. */
  cpuMicroseconds: number;
}

/** Starts servers several times, and measures them under full load and with one connection. */
export async function compareServers<Name extends string>(
  starts: Record<Name, () => Promise<PortChild>>,
  signal: AbortSignal,
): Promise<{ throughput: Record<Name, Throughput>; latency: Record<Name, Latency> }> {
  const loads: Record<Name, { rate: number; cpu: number }[]>[] = [];
  const latencies: Record<Name, Latency>[] = [];
  for (let generation = 0; generation < generations; generation++) {
    await using opened = new AsyncDisposableStack();
    const servers = await mapValues(starts, async (start) => opened.use(await start()));
    loads.push(await underLoad(servers, signal));
    latencies.push(await compareLatency(servers, signal));
  }
  const throughput = await mapValues(starts, async (_start, name) => {
    const all = loads.flatMap((load) => load[name]);
    return {
      requestsPerSecond: median(all.map(({ rate }) => rate)),
      cpuMicroseconds: median(all.map(({ cpu }) => cpu)),
    };
  });
  const latency = await mapValues(starts, async (_start, name) => ({
    p50Ms: median(latencies.map((each) => each[name].p50Ms)),
    p99Ms: median(latencies.map((each) => each[name].p99Ms)),
  }));
  return { throughput, latency };
}

/**
 * Puts servers under full load in turns. Processor time counts most: with few processors the load generator and
 * the server behind a proxy share the processors.
 */
async function underLoad<Name extends string>(
  servers: Record<Name, PortChild>,
  signal: AbortSignal,
): Promise<Record<Name, { rate: number; cpu: number }[]>> {
  using opened = new DisposableStack();
  const measures = await mapValues(servers, async (server) => {
    const load = opened.use(await Load.open(server.ready.port, connectionCount, server.ready.token));
    for (let asked = 0; asked < warmUpRequests && !signal.aborted;)
      asked += (await load.run(warmUpMs)).requests;
    return async () => {
      const before = await server.usage();
      const { requests, ms } = await load.run(roundMs);
      const after = await server.usage();
      return { rate: (requests / ms) * 1000, cpu: ((after.cpuMs - before.cpuMs) / requests) * 1000 };
    };
  });
  return inTurns(rounds, measures, signal);
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
  change: (value: From, name: Name) => Promise<To>,
): Promise<Record<Name, To>> {
  const entries: [string, To][] = [];
  for (const [name, value] of Object.entries<From>(record))
    entries.push([name, await change(value, name as Name)]); // the names are the keys
  return Object.fromEntries(entries) as Record<Name, To>; // the same names
}
