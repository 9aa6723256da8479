import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/**
 * Seals state that a client stores for the proxy between two requests. The client can neither read nor change the
 * state, and can use it only within the time limit and for the same request (MCP 2026-07-28, Multi Round-Trip
 * Requests, Server Requirements 4 and 5).
 */
export class Seal {
  readonly #key = randomBytes(32);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** `bound` identifies the only request that may return the state. */
  seal(content: string, bound: string, validMs: number): string {
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv(algorithm, this.#key, iv, { authTagLength: tagBytes });
    cipher.setAAD(digestOf(bound));
    const text = JSON.stringify([this.#now() + validMs, content]);
    const sealed = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64url');
  }

  /**
   * Returns the content. Returns undefined if it was not sealed by this proxy, was sealed for another request, or has
   * expired.
   */
  unseal(sealed: string, bound: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < ivBytes + tagBytes) return undefined;
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(digestOf(bound));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const text =
        decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
      const [expires, content] = JSON.parse(text) as [number, string]; // written by `seal`
      return expires > this.#now() ? content : undefined;
    } catch {
      return undefined;
    }
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
