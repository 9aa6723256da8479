import { startChild } from '../child.ts';
import { compareServers } from '../contest.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/** The proxy in front of a server that speaks HTTP, beside the barest proxy that `undici` makes. */
export async function proxy({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using upstream: PortChild = await startChild(new URL('../servers/http-echo.ts', import.meta.url));
  const port = String(upstream.ready.port);
  const { throughput, latency } = await compareServers(
    {
      ours: () => startChild(new URL('../servers/proxy.ts', import.meta.url), [port]),
      parsed: () => startChild(new URL('../servers/proxy.ts', import.meta.url), [port, 'echo']),
      bare: () => startChild(new URL('../servers/undici-proxy.ts', import.meta.url), [port]),
      direct: () => startChild(new URL('../servers/http-echo.ts', import.meta.url)),
    },
    signal,
  );
  return [
    {
      what: 'tools/call, 32 connections',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.bare.requestsPerSecond,
      comparison: 'share of rate',
      budget: 0.95,
    },
    {
      what: 'processor time of a request',
      unit: 'µs',
      ours: throughput.ours.cpuMicroseconds,
      reference: throughput.bare.cpuMicroseconds,
      comparison: 'share by time',
      budget: 0.95,
    },
    {
      what: 'p50 over the server itself, 1 connection',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.direct.p50Ms,
      comparison: 'added',
    },
    {
      what: 'p99 over the server itself, 1 connection',
      unit: 'ms',
      ours: latency.ours.p99Ms,
      reference: latency.direct.p99Ms,
      comparison: 'added',
      budget: 2,
    },
    {
      what: 'p50 over the bare proxy, 1 connection',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.bare.p50Ms,
      comparison: 'added',
      budget: 0.05, // a smaller budget is not possible (decision 23)
    },
    {
      what: 'p99 over the bare proxy, 1 connection',
      unit: 'ms',
      ours: latency.ours.p99Ms,
      reference: latency.bare.p99Ms,
      comparison: 'added',
    },
    {
      what: 'tools/call, 32 connections, with a tool filter',
      unit: 'requests/s',
      ours: throughput.parsed.requestsPerSecond,
      reference: throughput.bare.requestsPerSecond,
      comparison: 'share of rate',
    },
    {
      what: 'processor time of a request, with a tool filter',
      unit: 'µs',
      ours: throughput.parsed.cpuMicroseconds,
      reference: throughput.bare.cpuMicroseconds,
      comparison: 'share by time',
    },
    {
      what: 'p50 over the bare proxy, 1 connection, with a tool filter',
      unit: 'ms',
      ours: latency.parsed.p50Ms,
      reference: latency.bare.p50Ms,
      comparison: 'added',
    },
  ];
}
