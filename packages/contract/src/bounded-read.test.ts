import { expect, test } from 'vitest';
import { readBounded } from './bounded-read.ts';

const tooLarge = (): Error => new Error('too large');

test.each([
  ['nothing', []],
  ['one chunk', [[1, 2, 3]]],
  ['several chunks, up to the limit', [[1], [], [2, 3, 4]]],
])('reads %s', async (_title, chunks) => {
  const bytes = await readBounded(streamOf(chunks), 4, tooLarge);

  expect([...bytes]).toEqual(chunks.flat());
});

test('ends the stream with the first byte beyond the limit', async () => {
  let given = 0;
  let isClosed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        given += 1;
        yield new Uint8Array(2);
      }
    } finally {
      isClosed = true;
    }
  }

  const reading = readBounded(endless(), 5, tooLarge);

  await expect(reading).rejects.toThrow('too large');
  expect([given, isClosed]).toEqual([3, true]);
});

async function* streamOf(chunks: readonly number[][]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Uint8Array.from(chunk);
}
