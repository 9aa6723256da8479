import { expect, test } from 'vitest';
import { remaining } from './format.ts';

test.each([
  [-5_000, 'less than a minute'],
  [20_000, 'less than a minute'],
  [60_000, '1 minute'],
  [14.6 * 60_000, '15 minutes'],
  [3_600_000, '1 hour'],
  [5_460_000, '1 hour 31 minutes'],
  [8 * 3_600_000, '8 hours'],
])('a time in %d ms is %s away', (ms, words) => {
  expect(remaining(new Date(1_000_000 + ms).toISOString(), 1_000_000)).toBe(words);
});
