import { expect, test } from 'vitest';
import { Spaced } from './spaced.ts';

test('a repeated problem is reported after growing numbers of repetitions', () => {
  const reports = new Spaced();

  const due = Array.from({ length: 9 }, () => reports.isDue('servers', 'broken connection'));

  expect(due).toEqual([true, true, false, true, false, false, false, true, false]);
});

test('another problem at the same place is reported at once, and so is each problem of a place that worked since', () => {
  const reports = new Spaced();
  for (let count = 0; count < 3; count += 1) reports.isDue('servers', 'broken connection');

  expect(reports.isDue('servers', '410 Expired')).toBe(true);
  expect(reports.isDue('servers', 'broken connection')).toBe(true);
  expect(reports.isDue('servers', 'broken connection')).toBe(false);
  reports.forget('servers');

  expect(reports.isDue('servers', 'broken connection')).toBe(true);
});
