import { Agent } from 'node:http';
import { ask, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { quantile } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { growTo, startDaemon, workloadName } from './daemon.ts';
import type { Daemon } from './daemon.ts';

const workloads = 1_000;
const warmUp = 100;
const requests = 400;

/** How long the list of very many workloads takes, and one of them, received but not parsed. */
export async function list({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using daemon = await startDaemon('memory');
  await growTo(daemon, workloads, signal);
  const budget = 20;
  const all = await latencies(daemon, () => workloadsPath, signal);
  const single = await latencies(daemon, (request) => `${workloadsPath}/${nameOf(request)}`, signal);
  return [
    ...figuresOf(`GET /workloads with ${workloads} workloads`, all, budget),
    ...figuresOf(`GET /workloads/{name} with ${workloads} workloads`, single),
  ];
}

function nameOf(request: number): string {
  return workloadName((request * 7919) % workloads);
}

/** In ms, of requests that come one after the other. */
async function latencies(
  { ready: { socketPath } }: Daemon,
  pathOf: (request: number) => string,
  signal: AbortSignal,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const latenciesMs: number[] = [];
  for (let request = 0; request < warmUp + requests; request++) {
    signal.throwIfAborted();
    const startedMs = performance.now();
    await ask({ socketPath, method: 'GET', path: pathOf(request), agent });
    if (request >= warmUp) latenciesMs.push(performance.now() - startedMs);
  }
  agent.destroy();
  return latenciesMs;
}

function figuresOf(what: string, latenciesMs: number[], budget?: number): Figure[] {
  return [
    { what: `${what}, p50`, unit: 'ms', ours: quantile(latenciesMs, 0.5), comparison: 'itself' },
    { what: `${what}, p99`, unit: 'ms', ours: quantile(latenciesMs, 0.99), comparison: 'itself', budget },
  ];
}
