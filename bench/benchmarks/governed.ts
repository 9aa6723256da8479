import { openOtlpReceiver } from '@toolhive/proxy/testing/otlp-receiver';
import { startChild } from '../child.ts';
import { compareServers } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

/** A workload with token validation, policies, an audit log, and telemetry, beside the same one without, and beside a bare bridge. */
export async function governed({ signal }: BenchmarkContext): Promise<Figure[]> {
  const script = new URL('../servers/governed.ts', import.meta.url);
  await using collector = await openOtlpReceiver();
  const endpoint = new URL(collector.endpoint).host;
  const { throughput, latency } = await compareServers(
    {
      ours: () => startChild(script, ['governed', endpoint]),
      plain: () => startChild(script, ['plain']),
      bridge: () => startChild(new URL('../servers/bridge.ts', import.meta.url)),
    },
    signal,
  );
  if (collector.spans.length === 0) throw new Error('no span was received');
  return [
    {
      what: 'tools/call, 32 connections',
      unit: 'requests/s',
      ours: throughput.ours.requestsPerSecond,
      reference: throughput.plain.requestsPerSecond,
      comparison: 'share of rate',
      budget: 0.5,
    },
    {
      what: 'latency p50, 1 connection',
      unit: 'ms',
      ours: latency.ours.p50Ms,
      reference: latency.plain.p50Ms,
      comparison: 'added',
      budget: 0.3,
    },
    {
      what: 'tools/call, 32 connections, without all of it, beside a bare bridge',
      unit: 'requests/s',
      ours: throughput.plain.requestsPerSecond,
      reference: throughput.bridge.requestsPerSecond,
      comparison: 'share of rate',
    },
    {
      what: 'latency p50, 1 connection, without all of it, beside a bare bridge',
      unit: 'ms',
      ours: latency.plain.p50Ms,
      reference: latency.bridge.p50Ms,
      comparison: 'added',
    },
  ];
}
