import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
/** The size of a key. */
const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;

/** The keys of a seal, newest first: the first key seals, and all of them unseal. */
export type SealKeys = () => readonly Uint8Array[];

/**
 * Seals state that a client stores for the proxy between two requests. The client can neither read nor change the
 * state, and can use it only within the time limit and for the same request (MCP 2026-07-28, Multi Round-Trip
 * Requests, Server Requirements 4 and 5).
 */
export class Seal {
  readonly #keys: SealKeys;
  readonly #now: () => number;

  /** By default, no other seal has the key. */
  constructor(now: () => number = Date.now, keys: SealKeys = onlyKey(randomBytes(keyBytes))) {
    this.#now = now;
    this.#keys = keys;
  }

  /** `bound` identifies the only request that may return the state. */
  seal(content: string, bound: string, validMs: number): string {
    const iv = randomBytes(ivBytes);
    const [key] = this.#keys();
    if (key === undefined) throw new Error('a seal needs a key');
    const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes });
    cipher.setAAD(digestOf(bound));
    const text = JSON.stringify([this.#now() + validMs, content]);
    const sealed = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  /**
   * Returns the content. Returns undefined if it was not sealed with one of the keys, was sealed for another request, or has
   * expired.
   */
  unseal(sealed: string, bound: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < ivBytes + tagBytes) return undefined;
    for (const key of this.#keys()) {
      const text = decrypted(bytes, key, bound);
      if (text === undefined) continue;
      const [expires, content] = JSON.parse(text) as [number, string]; // written by `seal`
      return expires > this.#now() ? content : undefined;
    }
    return undefined;
  }
}

function decrypted(bytes: Buffer, key: Uint8Array, bound: string): string | undefined {
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(digestOf(bound));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined; // sealed with another key, for another purpose, or changed
  }
}

function onlyKey(key: Uint8Array): SealKeys {
  return () => [key];
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
