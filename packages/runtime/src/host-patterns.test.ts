import { describe, expect, test } from 'vitest';
import { normalizeName, parseHostPattern } from './host-patterns.ts';

describe('a host pattern', () => {
  test.each([
    ['example.com', ['example.com'], ['www.example.com', 'example.org', 'notexample.com', 'com']],
    ['*.example.com', ['www.example.com', 'a.b.example.com'], ['example.com', 'wwwexample.com']],
    ['.example.com', ['example.com', 'www.example.com'], ['xexample.com', 'example.com.evil']],
    ['EXAMPLE.com.', ['example.com'], ['www.example.com']],
    ['bücher.example', ['xn--bcher-kva.example'], ['bucher.example']],
    ['_srv.example.com', ['_srv.example.com'], []],
  ])('%s matches names', (pattern, matching, others) => {
    const parsed = parseHostPattern(pattern);

    expect(matching.filter((name) => !parsed.matchesName(name))).toEqual([]);
    expect(others.filter((name) => parsed.matchesName(name))).toEqual([]);
    expect(parsed.matchesAddress('192.0.2.1')).toBe(false);
  });

  test.each([
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.8', '::ffff:192.0.3.7']],
    ['10.0.0.0/8', ['10.1.2.3'], ['11.0.0.1', '::1']],
    ['2001:db8::/32', ['2001:db8::1'], ['2001:db9::1', '10.0.0.1']],
  ])('%s matches addresses', (pattern, matching, others) => {
    const parsed = parseHostPattern(pattern);

    expect(matching.filter((address) => !parsed.matchesAddress(address))).toEqual([]);
    expect(others.filter((address) => parsed.matchesAddress(address))).toEqual([]);
    expect(parsed.matchesName('example.com')).toBe(false);
  });

  test.each([
    '',
    '*',
    '.',
    '*.',
    'a b',
    'http://example.com',
    'example.com/x',
    '*.*.com',
    'a..b',
    '10.0.0.0/33',
    '-a.com',
    'a'.repeat(64),
    'user@host',
    '10.0.0.1/8/8',
    '$(id).com',
  ])('%j is none', (pattern) => {
    expect(() => parseHostPattern(pattern)).toThrow('is not a host');
  });

  test('a number is an address in another form, and no name', () => {
    expect(['2130706433', '0x7f.1', '127.1', '0177.0.0.1'].map(normalizeName)).toEqual(
      Array(4).fill(undefined),
    );
  });
});
