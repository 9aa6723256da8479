import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { WorkloadInput } from '../input/workload-input.ts';
import { readLines } from './lines.ts';

/** What comes of chunks, in the order of the events. */
async function linesOf(chunks: readonly (string | Buffer)[], limitBytes = 100): Promise<string[]> {
  const output = new PassThrough();
  const seen: string[] = [];
  const read = readLines(output, {
    input: new WorkloadInput(),
    onExceeded: (reason) => seen.push(reason),
    onLine: (line) => seen.push(line),
    onTooLong: () => seen.push('(too long)'),
    limitBytes,
  });
  for (const chunk of chunks) output.write(chunk);
  output.end();
  await read;
  return seen;
}

test.each([
  ['whole lines', ['one\ntwo\n'], ['one', 'two']],
  ['lines in pieces', ['on', 'e\nt', 'wo', '\n'], ['one', 'two']],
  ['empty lines', ['\n\none\n\n'], ['one']],
  ['a last line without an end', ['one\ntw'], ['one']],
  ['a last message without an end', ['one\n{"a":', '["}"]}'], ['one', '{"a":["}"]}']],
  ['a part of a message at the end', ['one\n{"a":{}', ''], ['one']],
  ['nothing', [], []],
])('reads %s', async (_title, chunks, expected) => {
  expect(await linesOf(chunks)).toEqual(expected);
});

test('reads messages without an end while the server waits for an answer', async () => {
  const output = new PassThrough();
  const seen: string[] = [];
  const deviations: string[] = [];
  const input = new WorkloadInput({ onTolerance: (tolerance) => deviations.push(tolerance) });
  const read = readLines(output, {
    input,
    onExceeded() {},
    onLine: (line) => seen.push(line),
    onTooLong() {},
  });

  output.write('Content-Length: 7\r\n\r\n{"a":1}');
  await expect.poll(() => seen).toEqual(['Content-Length: 7\r', '\r', '{"a":1}']);
  output.write('{"b":\n2\n}');
  await expect.poll(() => seen.slice(3)).toEqual(['{"b":', '2', '}']);
  output.end('{"c":3}\n');
  await read;

  expect(seen.slice(6)).toEqual(['{"c":3}']);
  expect(deviations).toEqual(['lineEnd']);
});

test('joins a character that was cut in two', async () => {
  const text = Buffer.from('ä\n');

  expect(await linesOf([text.subarray(0, 1), text.subarray(1)])).toEqual(['ä']);
});

test('drops a line that is too long, however it comes, and continues with the next', async () => {
  const long = 'x'.repeat(40);

  expect(await linesOf([`before\n${long}`, long, `${long}\nafter\n`])).toEqual([
    'before',
    '(too long)',
    'after',
  ]);
  expect(await linesOf([`${'x'.repeat(120)}\nafter\n`])).toEqual(['(too long)', 'after']);
});
