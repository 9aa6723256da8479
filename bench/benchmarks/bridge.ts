import { startChild } from '../child.ts';
import { compareLatency, compareThroughput } from '../contest.ts';
import type { PortChild } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/** The stdio bridge in front of a real process, beside a bare `node:http` server that answers by itself. */
export async function bridge({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using ours: PortChild = await startChild(new URL('../servers/bridge.ts', import.meta.url));
  await using reference: PortChild = await startChild(new URL('../servers/http-echo.ts', import.meta.url));
  const throughput = await compareThroughput({ ours, reference }, signal);
  const latency = await compareLatency({ ours, reference }, signal);
  return [
    {
      what: 'tools/call, 32 connections',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.reference.requestsPerSecond,
      comparison: 'share of rate',
      budget: 0.7,
    },
    {
      what: 'processor time of a request',
      unit: 'µs',
      ours: throughput.ours.cpuMicroseconds,
      reference: throughput.reference.cpuMicroseconds,
      comparison: 'share by time',
      budget: 0.7,
    },
    {
      what: 'latency p50, 1 connection',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.reference.p50Ms,
      comparison: 'added',
    },
    {
      what: 'latency p99, 1 connection',
      unit: 'ms',
      ours: latency.ours.p99Ms,
      reference: latency.reference.p99Ms,
      comparison: 'added',
    },
  ];
}
