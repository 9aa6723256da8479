import { X509Certificate } from 'node:crypto';
import { unavailable } from '@toolhive/contract/failure';

type Members = Record<string, unknown>;

/**
 * A key set as RFC 7517 requires. Providers publish a list or a single key instead of a set, write null for missing members,
 * and publish some keys only as certificates. Throws `unavailable` for anything else.
 */
export function asKeySet(text: string, address: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw unavailable(`${address} returned no JSON`);
  }
  const keys = keysIn(value);
  if (keys === undefined) throw unavailable(`${address} returned no key set`);
  return JSON.stringify({ keys: keys.filter(isMembers).map(withKey) });
}

function keysIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isMembers(value)) return undefined;
  if (Array.isArray(value['keys'])) return value['keys'];
  return typeof value['kty'] === 'string' ? [value] : undefined;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The key itself, which may be only in a certificate. The key set is trusted, so the certificate is not checked. */
function withKey(key: Members): Members {
  const members = Object.fromEntries(Object.entries(key).filter(([, value]) => value !== null));
  const [certificate] = Array.isArray(members['x5c']) ? (members['x5c'] as unknown[]) : [];
  const isComplete = members['kty'] === 'RSA' ? 'n' in members && 'e' in members : 'x' in members;
  if (isComplete || typeof certificate !== 'string') return members;
  try {
    const { publicKey } = new X509Certificate(Buffer.from(certificate, 'base64'));
    return { ...members, ...publicKey.export({ format: 'jwk' }) };
  } catch {
    return members; // this key cannot be used, and the others can
  }
}
