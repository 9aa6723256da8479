import { generateKeyPair } from 'jose';

const pairs = new Map<string, ReturnType<typeof generateKeyPair>>();

/**
 * An RSA key pair. The same name gets the same pair in all tests of a process, because to find one takes a tenth of a second of
 * a processor, and hundreds of tests need one.
 */
export function rsaKeys(name: string): ReturnType<typeof generateKeyPair> {
  const known = pairs.get(name);
  if (known !== undefined) return known;
  const pair = generateKeyPair('RS256', { extractable: true });
  pairs.set(name, pair);
  return pair;
}
