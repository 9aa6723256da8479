import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

test.each([1, 2, 3, 5, 100])('divides pieces of %d characters into the same lines', (size) => {
  const text = 'one\n\ntwo\nthree\n\n\nrest';
  const lines = new LineSplitter();
  const found: string[] = [];

  for (let at = 0; at < text.length; at += size) found.push(...lines.add(text.slice(at, at + size)));

  expect(found).toEqual(['one', '', 'two', 'three', '', '']);
  expect(lines.restLength).toBe('rest'.length);
  expect(lines.take()).toBe('rest');
  expect([lines.restLength, lines.take()]).toEqual([0, '']);
});

test('reads a line of two million pieces, each of them once', () => {
  const lines = new LineSplitter();
  const length = 2_000_000;

  for (let added = 0; added < length; added += 1) lines.add('x');
  const [line] = lines.add('\n');

  expect(line?.length).toBe(length);
});
