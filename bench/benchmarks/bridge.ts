import { startChild } from '../child.ts';
import { compareLatency, compareThroughput } from '../contest.ts';
import type { Latency, PortChild, Throughput } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/**
 * The stdio bridge in front of a real process, compared with a plain `node:http` server without a process, and with
 * other programs in front of the same process.
 */
export async function bridge({ signal }: BenchmarkContext): Promise<Figure[]> {
  const peerScript = new URL('../servers/peer.ts', import.meta.url);
  const script = new URL('../servers/bridge.ts', import.meta.url);
  await using ours: PortChild = await startChild(script);
  await using filtered: PortChild = await startChild(script, ['echo']);
  await using reference: PortChild = await startChild(new URL('../servers/http-echo.ts', import.meta.url));
  await using sdk: PortChild = await startChild(new URL('../servers/sdk.ts', import.meta.url));
  await using supergateway: PortChild = await startChild(peerScript, ['supergateway']);
  await using mcpProxy: PortChild = await startChild(peerScript, ['mcp-proxy']);
  const contenders = { ours, filtered, reference, sdk, supergateway, 'mcp-proxy': mcpProxy };
  const throughput = await compareThroughput(contenders, signal);
  const latency = await compareLatency(contenders, signal);
  const peers = [throughput.supergateway, throughput['mcp-proxy']];
  return [
    {
      what: 'tools/call, 32 connections',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.reference.requestsPerSecond,
      comparison: 'share of rate',
      budget: 0.8,
    },
    {
      what: 'tools/call, 32 connections, the faster peer',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: Math.max(...peers.map(({ requestsPerSecond }) => requestsPerSecond)),
      comparison: 'times the rate', // a bare server is the limit, which the budget above is about (decision 23)
    },
    {
      what: 'processor time of a request',
      unit: 'µs',
      ours: throughput.ours.cpuMicroseconds,
      reference: throughput.reference.cpuMicroseconds,
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
    ...(['sdk', 'supergateway', 'mcp-proxy'] as const).flatMap((name) =>
      besidePeer(name, throughput.ours, throughput[name], latency.ours, latency[name]),
    ),
  ];
}

function besidePeer(
  name: string,
  ours: Throughput,
  peer: Throughput,
  ourLatency: Latency,
  peerLatency: Latency,
): Figure[] {
  return [
    {
      what: `tools/call, 32 connections, ${name}`,
      unit: 'requests/s',
      ours: ours.requestsPerSecond,
      reference: peer.requestsPerSecond,
      comparison: 'times the rate',
    },
    {
      what: `processor time of a request, ${name}`,
      unit: 'µs',
      ours: ours.cpuMicroseconds,
      reference: peer.cpuMicroseconds,
      comparison: 'times by time',
    },
    {
      what: `latency p50, 1 connection, ${name}`,
      unit: 'ms',
      ours: ourLatency.p50Ms,
      reference: peerLatency.p50Ms,
      comparison: 'added',
    },
  ];
}
