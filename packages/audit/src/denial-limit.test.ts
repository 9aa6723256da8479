import { expect, test } from 'vitest';
import { DenialLimit } from './denial-limit.ts';

test('the next record of a component counts those before, however many other components there are', () => {
  let nowMs = 0;
  const limit = new DenialLimit(() => nowMs);
  const counts = Array.from({ length: 150 }, () => limit.take('flooded'));
  const recorded = counts.filter((count) => count === 0).length;

  nowMs = 24 * 60 * 60_000; // its allowance is full again
  for (let number = 0; number < 2_000; number += 1) limit.take(`workload-${number}`);

  expect(recorded).toBe(100);
  expect(limit.take('flooded')).toBe(50);
  expect(limit.take('flooded')).toBe(0);
});
