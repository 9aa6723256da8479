import { expect, test } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const nowMs = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT');

test.each([
  ['3', 3_000],
  [' 0 ', 0],
  ['0.5', 500],
  [['7', '9'], 7_000],
  ['Wed, 21 Oct 2026 07:28:05 GMT', 5_000],
  ['Wednesday, 21-Oct-26 07:28:05 GMT', 5_000],
  ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ['-3', undefined],
  ['', undefined],
  ['soon', undefined],
  ['1e9', undefined],
  [undefined, undefined],
])('%j is a wait of %s ms', (value, waitMs) => {
  expect(retryAfterMs(value, nowMs)).toBe(waitMs);
});
