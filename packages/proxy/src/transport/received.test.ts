import { expect, test } from 'vitest';
import { readBody } from './received.ts';

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

test.each([
  ['deep', nested(600)],
  ['deeper than can be written', nested(1_000_000)],
  ['many', `[${'{},'.repeat(100_001)}{}]`],
])('a body without an ID is no answer if it is beyond the limits of messages: %s', (_what, data) => {
  const { answer, others } = readBody(`{"error":{"message":"no","data":${data}}}`, 1, () => {});

  expect(answer).toBeUndefined();
  expect(others).toEqual([]);
});

test('a body without an ID is the answer within them', () => {
  const { answer } = readBody(`{"error":{"message":"no","data":${nested(100)}}}`, 1, () => {});

  expect(answer).toContain('"id":1');
});

test('the lines of a body are read up to a limit', () => {
  const event = 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n';

  expect(readBody(`:\n${'\n'.repeat(1_000)}${event}`, 1, () => {}).answer).toMatchObject({
    kind: 'response',
  });
  expect(readBody(`:\n${'\n'.repeat(200_000)}${event}`, 1, () => {}).answer).toBeUndefined();
});
