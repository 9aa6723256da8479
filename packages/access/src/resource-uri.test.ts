import { expect, test } from 'vitest';
import { readingsOf } from './resource-uri.ts';

test('a host with very many dots is read in time', { timeout: 60_000 }, () => {
  const uri = `http://a${'.'.repeat(8_000)}b/`;

  const readings = Array.from({ length: 2_000 }, () => readingsOf(uri).canonical.length);

  expect(new Set(readings).size).toBe(1);
});

test('the dot at the end of a host makes no difference', () => {
  expect(readingsOf('http://a.example../').canonical).toContain('http://a.example/');
});
