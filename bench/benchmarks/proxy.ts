import { startChild } from '../child.ts';
import { compareLatency, compareThroughput } from '../contest.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/** The proxy in front of a server that speaks HTTP, beside the barest proxy that `undici` makes. */
export async function proxy({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using direct: PortChild = await startChild(new URL('../servers/http-echo.ts', import.meta.url));
  const upstream = [String(direct.ready.port)];
  await using ours: PortChild = await startChild(new URL('../servers/proxy.ts', import.meta.url), upstream);
  await using parsed: PortChild = await startChild(new URL('../servers/proxy.ts', import.meta.url), [
    ...upstream,
    'echo',
  ]);
  await using bare: PortChild = await startChild(
    new URL('../servers/undici-proxy.ts', import.meta.url),
    upstream,
  );
  const throughput = await compareThroughput({ ours, parsed, bare }, signal);
  const latency = await compareLatency({ ours, parsed, bare, direct }, signal);
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
