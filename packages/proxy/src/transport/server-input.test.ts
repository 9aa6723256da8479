import { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ServerInput } from './server-input.ts';

test('writes the lines of one turn together', async () => {
  const { stream, writes } = recorder();
  const input = new ServerInput(stream);

  input.writeLine('one');
  input.writeLine('two');
  await nextTurn();
  input.writeLine('three');
  await nextTurn();

  expect(writes).toEqual(['one\ntwo\n', 'three\n']);
});

test('loses nothing when the input is ended in the same turn', async () => {
  const { stream, writes } = recorder();
  const input = new ServerInput(stream);

  input.writeLine('one');
  input.flush();
  stream.end();
  await nextTurn();

  expect(writes).toEqual(['one\n']);
});

test('counts what waits to be written as unread', () => {
  const { stream } = recorder();
  const input = new ServerInput(stream);

  input.writeLine('four');

  expect(input.unreadBytes).toBe(5);
});

/** A stream that remembers what was written to it at once. */
function recorder(): { stream: Writable; writes: string[] } {
  const writes: string[] = [];
  const stream = new Writable({
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }: { chunk: Buffer }) => chunk.toString()).join(''));
      done();
    },
  });
  return { stream, writes };
}
