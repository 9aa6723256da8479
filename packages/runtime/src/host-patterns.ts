import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { invalid } from '@toolhive/contract/failure';

/**
 * A pattern of hosts in a permission profile:
 * - `example.com`: this name
 * - `*.example.com`: every name below it
 * - `.example.com`: the name and every name below it
 * - `192.0.2.7`, `2001:db8::7`, `192.0.2.0/24`: addresses that are connected to without a name. These are the only way
 *   to allow a private address.
 */
export interface HostPattern {
  /** The original text. */
  text: string;
  matchesName(name: string): boolean;
  matchesAddress(address: string): boolean;
}

/** Parses a pattern. Throws `invalid` for an invalid pattern. */
export function parseHostPattern(text: string): HostPattern {
  const addresses = addressesOf(text);
  if (addresses !== undefined) {
    const matchesAddress = (address: string): boolean => addresses.check(address, familyOf(address));
    return { text, matchesName: () => false, matchesAddress };
  }
  const [, prefix = '', rest = ''] = /^(\*\.|\.)?(.+)$/s.exec(text) ?? [];
  const name = normalizeName(rest);
  if (name === undefined) {
    throw invalid(`${JSON.stringify(text)} is not a host`, {
      hint: 'use a name (example.com), all names below one (*.example.com), both (.example.com), an address, or a range (192.0.2.0/24)',
    });
  }
  const isBelow = (other: string): boolean => other.endsWith(`.${name}`);
  const matchesName = (other: string): boolean =>
    prefix === '' ? other === name : isBelow(other) || (prefix === '.' && other === name);
  return { text, matchesName, matchesAddress: () => false };
}

/** A host name in lowercase ASCII, without a final dot. Undefined if the name is invalid (RFC 1123, RFC 5891). */
export function normalizeName(text: string): string | undefined {
  if (/[\s/\\?#@:%]/.test(text)) return undefined; // the URL parser cuts off the text after these characters
  const name = domainToASCII(text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
  const isName =
    name.length <= 253 && isIP(name) === 0 && /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name);
  return isName ? name : undefined;
}

function addressesOf(text: string): BlockList | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return undefined;
  const list = new BlockList();
  const most = family === 6 ? 128 : 32;
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else if (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    list.addSubnet(address, Number(bits), familyOf(address));
  else return undefined;
  return list;
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
