import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { isOfThisMachine, refusalOf } from './addresses.ts';

const own = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .map(({ address }) => address);

describe('an address of this machine', () => {
  test.each(own)('%s is recognized in each of its forms', (address) => {
    const [high, low] = address.split('.').map(Number).flatMap(pairs);
    const forms =
      isIP(address) === 4
        ? [address, `::ffff:${address}`, `0:0:0:0:0:FFFF:${high}:${low}`, `64:ff9b::${address}`]
        : [address, address.toUpperCase(), address.replace('::', ':0::').replace(/^:/, '0:')];

    expect(forms.filter((form) => !isOfThisMachine(form))).toEqual([]);
  });

  test.each(['127.255.255.254', '::1', '0:0::1', '::ffff:7f00:1', '2002:7f00:1::'])(
    '%s is a loopback address',
    (address) => {
      expect(isOfThisMachine(address)).toBe(true);
      expect(refusalOf(address, 'others')).toBe('a loopback address');
    },
  );

  test.each(['203.0.114.1', '2606:4700::1', '::ffff:203.0.114.1'])('%s is none', (address) => {
    expect(isOfThisMachine(address)).toBe(false);
  });

  test('is not one of the other machines that a redirect may lead to', () => {
    expect(own.filter((address) => refusalOf(address, 'others') === undefined)).toEqual([]);
  });
});

/** Two bytes as one word of an IPv6 address. */
function pairs(byte: number, at: number, bytes: readonly number[]): string[] {
  return at % 2 === 1 ? [] : [((byte << 8) | (bytes[at + 1] ?? 0)).toString(16)];
}
