import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { PassingMap, PassingSet } from './passing.ts';

const open = 32;

/** Adds entries one after the other, and deletes each as soon as `open` newer ones were added. */
function passThrough(entries: PassingMap<number | string, unknown>, count: number): void {
  for (let at = 0; at < count; at++) {
    entries.set(
      at,
      Array.from({ length: 200 }, () => at),
    );
    entries.delete(at - open);
  }
}

test('entries stay in the order in which they were added, whatever came and went before', () => {
  const map = new PassingMap<number | string, unknown>();
  map.set('first', 'stays');
  passThrough(map, 10_000);
  map.set('last', 'added');
  expect([...map.keys()]).toEqual([
    'first',
    ...Array.from({ length: open }, (_, index) => 10_000 - open + index),
    'last',
  ]);
  expect(map.size).toBe(open + 2);
  expect(map.get('first')).toBe('stays');
  expect(map.delete('first')).toBe(true);
  expect(map.delete('first')).toBe(false);
  expect(map.has('first')).toBe(false);
  map.clear();
  expect([...map]).toEqual([]);
});

test('all elements of a set can be deleted in an iteration', () => {
  const set = new PassingSet<number>();
  for (let at = 0; at < 1000; at++) set.add(at);
  for (const element of set) expect(set.delete(element)).toBe(true);
  expect(set.size).toBe(0);
  expect(set.has(1)).toBe(false);
});

test('a minor collection removes deleted entries, even if the map is old', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  const map = new PassingMap<number | string, unknown>();
  passThrough(map, 100);
  collect();
  const { heapUsed } = process.memoryUsage();
  passThrough(map, 40_000); // 64 MB
  collect({ type: 'minor' });
  expect(process.memoryUsage().heapUsed - heapUsed).toBeLessThan(16_000_000);
});
