import type { Attributes } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { DurationHistograms } from './duration-histograms.ts';
import type { DurationHistogram } from './duration-histograms.ts';

const resource = resourceFromAttributes({ 'service.name': 'test' });
const bounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Records in the SDK and here. Returns a function that reads the figures of both. */
function openBoth(temporality: AggregationTemporality) {
  const exporter = new InMemoryMetricExporter(temporality);
  const ours = new DurationHistograms({
    scope: 'ours',
    resource,
    temporality,
    isDelta: temporality === AggregationTemporality.DELTA,
    dataPointType: DataPointType.HISTOGRAM,
  });
  const reader = new PeriodicExportingMetricReader({
    exporter,
    metricProducers: [ours],
    exportIntervalMillis: 3_600_000,
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const theirs = provider.getMeter('theirs').createHistogram('duration', {
    description: 'How long it took.',
    unit: 's',
    advice: { explicitBucketBoundaries: bounds },
  });
  const histogram = ours.open('duration', 'How long it took.');
  const record = (attributes: Attributes, seconds: number): void => {
    theirs.record(seconds, attributes);
    seriesOf(histogram, attributes).record(seconds);
  };
  const read = async () => {
    exporter.reset();
    await reader.forceFlush();
    const scopes = exporter.getMetrics()[0]?.scopeMetrics ?? [];
    const metricsOf = (name: string) =>
      scopes.filter(({ scope }) => scope.name === name).flatMap(({ metrics }) => metrics);
    return { theirs: metricsOf('theirs'), ours: metricsOf('ours') };
  };
  return { record, read, [Symbol.asyncDispose]: () => provider.shutdown() };
}

function seriesOf(histogram: DurationHistogram, attributes: Attributes) {
  const key = JSON.stringify(attributes);
  return histogram.find(key) ?? histogram.add(key, attributes);
}

/** Everything but the times, which pass between the two readings. */
function comparable(metrics: Awaited<ReturnType<ReturnType<typeof openBoth>['read']>>['ours']) {
  return metrics.map(({ descriptor: { name, unit, description, valueType }, ...rest }) => ({
    descriptor: { name, unit, description, valueType },
    ...rest,
    dataPoints: rest.dataPoints.map(({ attributes, value }) => ({ attributes, value })),
  }));
}

describe.each([
  ['cumulative', AggregationTemporality.CUMULATIVE],
  ['delta', AggregationTemporality.DELTA],
])('histograms with %s figures', (_name, temporality) => {
  test('export the same as those of the SDK', async () => {
    await using both = openBoth(temporality);

    for (const tool of ['a', 'b'])
      for (const seconds of [0, 0.01, 0.010001, 0.3, 299, 300, 301, 1e6]) both.record({ tool }, seconds);
    const first = await both.read();
    both.record({ tool: 'b' }, 0.02);
    both.record({ tool: 'c', failed: 'yes' }, 7);
    const second = await both.read();
    const third = await both.read();

    for (const { ours, theirs } of [first, second, third])
      expect(comparable(ours)).toEqual(comparable(theirs));
    expect(first.ours[0]?.dataPoints).toHaveLength(2);
    expect(third.ours.length).toBe(temporality === AggregationTemporality.DELTA ? 0 : 1);
  });

  test('are not read before anything was recorded', async () => {
    await using both = openBoth(temporality);

    expect(await both.read()).toEqual({ ours: [], theirs: [] });
  });

  test('have one series for everything that is too much', async () => {
    await using both = openBoth(temporality);

    for (let n = 0; n < 2_100; n++) both.record({ n }, 1);
    const { ours, theirs } = await both.read();

    expect(ours[0]?.dataPoints).toHaveLength(2_000);
    expect(comparable(ours)).toEqual(comparable(theirs));
  });

  test('begin when their first value was recorded', async () => {
    await using both = openBoth(temporality);
    const beforeMs = Date.now();
    both.record({ tool: 'a' }, 1);

    const { ours } = await both.read();

    const { startTime = [0, 0], endTime = [0, 0] } = ours[0]?.dataPoints[0] ?? {};
    const [startMs, endMs] = [startTime, endTime].map(
      ([seconds, nanoseconds]) => seconds * 1_000 + nanoseconds / 1e6,
    );
    expect(startMs).toBeGreaterThanOrEqual(beforeMs);
    expect(endMs).toBeGreaterThanOrEqual(startMs ?? Infinity);
  });
});
