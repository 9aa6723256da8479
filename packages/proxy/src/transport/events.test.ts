import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { WorkloadInput } from '../input/workload-input.ts';
import { readEvents } from './events.ts';

async function dataOf(text: string): Promise<string[]> {
  const events = await Array.fromAsync(readEvents(Readable.from([Buffer.from(text)]), new WorkloadInput()));
  return events.map(({ data }) => data);
}

test('the last event counts without the empty line behind it', async () => {
  expect(await dataOf('data: {"a":[[1]]}')).toEqual(['{"a":[[1]]}']);
});

test('the last event is left out if it is cut off, or beyond the limits of messages', async () => {
  expect(await dataOf('data: {"a":[')).toEqual([]);
  expect(await dataOf(`data: {"a":${'['.repeat(600)}${']'.repeat(600)}}`)).toEqual([]);
});
