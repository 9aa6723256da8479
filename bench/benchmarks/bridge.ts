import { startChild } from '../child.ts';
import { compareServers } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/**
 * The stdio bridge in front of a real process, compared with a bare bridge in front of the same process, with a plain
 * `node:http` server without a process, and with the official SDK's transports.
 */
export async function bridge({ signal }: BenchmarkContext): Promise<Figure[]> {
  const { throughput, latency } = await compareServers(
    {
      ours: () => startChild(new URL('../servers/bridge.ts', import.meta.url)),
      filtered: () => startChild(new URL('../servers/bridge.ts', import.meta.url), ['echo']),
      bare: () => startChild(new URL('../servers/piped-echo.ts', import.meta.url)),
      reference: () => startChild(new URL('../servers/http-echo.ts', import.meta.url)),
      sdk: () => startChild(new URL('../servers/sdk.ts', import.meta.url)),
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
      budget: 0.85,
    },
    {
      what: 'processor time of a request',
      unit: 'µs',
      ours: throughput.ours.cpuMicroseconds,
      reference: throughput.bare.cpuMicroseconds,
      comparison: 'share by time',
    },
    {
      what: 'processor time of a request, with a tool filter, beside none',
      unit: 'µs',
      ours: throughput.filtered.cpuMicroseconds,
      reference: throughput.ours.cpuMicroseconds,
      comparison: 'share by time',
      budget: 1 / 1.3,
    },
    {
      what: 'latency p50, 1 connection',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.bare.p50Ms,
      comparison: 'added',
    },
    {
      what: 'latency p99, 1 connection',
      unit: 'ms',
      ours: latency.ours.p99Ms,
      reference: latency.bare.p99Ms,
      comparison: 'added',
    },
    {
      what: 'tools/call, 32 connections, without a process',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.reference.requestsPerSecond,
      comparison: 'share of rate',
    },
    {
      what: 'tools/call, 32 connections, the bare bridge, without a process',
      unit: 'requests/s',
      ours: throughput.bare.requestsPerSecond,
      reference: throughput.reference.requestsPerSecond,
      comparison: 'share of rate',
    },
    {
      what: 'latency p50, 1 connection, without a process',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.reference.p50Ms,
      comparison: 'added',
    },
    {
      what: 'tools/call, 32 connections, the SDK',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.sdk.requestsPerSecond,
      comparison: 'times the rate',
    },
    {
      what: 'processor time of a request, the SDK',
      unit: 'µs',
      ours: throughput.ours.cpuMicroseconds,
      reference: throughput.sdk.cpuMicroseconds,
      comparison: 'times by time',
    },
    {
      what: 'latency p50, 1 connection, the SDK',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.sdk.p50Ms,
      comparison: 'added',
    },
  ];
}
