import { expect, test } from 'vitest';
import { readableResult } from './results.ts';

const image = (data: string) => ({ content: [{ type: 'image', mimeType: 'image/png', data }] });

test.each(['aGk=', ' aG\nk= \r\n', 'aGkK', ''])('an image with the data %j stays as it is', (data) => {
  const result = image(data);

  expect(readableResult('tools/call', result)).toBe(result);
});

test.each(['a', 'aGk=K', 'aG k!', 'aG=k='])('an image with the data %j is left out', (data) => {
  expect(readableResult('tools/call', image(data))).not.toEqual(image(data));
});

test('data of the allowed size takes time in proportion to its length', () => {
  // Where a pattern tries all ways to divide the spaces, this does not come to an end.
  const data = `${' '.repeat(8_000_000)}!`;

  expect(readableResult('tools/call', image(data))).not.toEqual(image(data));
});
