import { expect, test } from 'vitest';
import { isAhead, isRecent } from './clock.ts';

test.each([
  [1_000, true],
  [1_999, true],
  [2_000, false],
  [999, false], // the clock was set back
])('whether a moment at 1000 with a duration of 1000 is recent at %i', (nowMs, expected) => {
  expect(isRecent(1_000, 1_000, nowMs)).toBe(expected);
});

test.each([
  [1_000, true],
  [1_999, true],
  [2_000, false],
  [999, false], // the clock was set back
])('whether a pause of 1000 until 2000 continues at %i', (nowMs, expected) => {
  expect(isAhead(2_000, 1_000, nowMs)).toBe(expected);
});
