import { expect, test } from 'vitest';
import { addDuration, addPacked, buckets, emptyHistogram, packed, percentile } from './histogram.ts';

test.each([0.3, 1, 4.2, 17, 250, 3_000, 60_000])('knows a duration of %s ms to 10 percent', (ms) => {
  const histogram = emptyHistogram();

  addDuration(histogram, ms);

  const found = percentile(histogram, 0.5) ?? 0;
  expect(Math.abs(found - ms) / ms).toBeLessThan(0.1);
});

test('gives the durations that a share of all does not exceed', () => {
  const histogram = emptyHistogram();
  for (let ms = 1; ms <= 100; ms += 1) addDuration(histogram, ms);

  const [p50 = 0, p95 = 0] = [percentile(histogram, 0.5), percentile(histogram, 0.95)];

  expect(p50 / 50).toBeCloseTo(1, 0);
  expect(p95 / 95).toBeCloseTo(1, 0);
  expect(percentile(emptyHistogram(), 0.5)).toBeUndefined();
});

test.each([0, -1, NaN, Infinity, 1e12])('takes every number as a duration: %s', (ms) => {
  const histogram = emptyHistogram();

  addDuration(histogram, ms);

  expect([histogram.length, histogram.reduce((sum, one) => sum + one, 0)]).toEqual([buckets, 1]);
});

test('is added to another one from its packed form', () => {
  const [one, sum] = [emptyHistogram(), emptyHistogram()];
  for (const ms of [1, 1, 40]) addDuration(one, ms);

  addPacked(sum, packed(one));
  addPacked(sum, packed(one));

  expect([...sum]).toEqual([...one].map((count) => 2 * count));
  expect(packed(one).length).toBe(10);
});

test.each([['a text'], [null], [7], [Buffer.from([255, 1, 2, 3, 4, 9])]])(
  'ignores what is not packed: %j',
  (value) => {
    const histogram = emptyHistogram();

    addPacked(histogram, value);

    expect(percentile(histogram, 0.5)).toBeUndefined();
  },
);
