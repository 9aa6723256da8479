import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import type { Keyring } from '../keyring.ts';
import type { ScryptCost } from '../sealed-file.ts';

/** Weak on purpose: what is tested is not scrypt. */
export const cheapCost: ScryptCost = { N: 16, r: 1, p: 1 };

/** A keyring in memory, for tests; what is in it stands in `entries`. */
export function memoryKeyring(
  entries = new Map<string, string>(),
): Keyring & { entries: Map<string, string> } {
  return {
    entries,
    isAvailable: async () => true,
    get: async (user) => entries.get(user),
    set: async (user, password) => {
      entries.set(user, password);
      return true;
    },
    delete: async (user) => {
      entries.delete(user);
      return true;
    },
  };
}

/** A system without a keyring. */
export const noKeyring: Keyring = {
  isAvailable: async () => false,
  get: async () => undefined,
  set: async () => false,
  delete: async () => false,
};

/** The file that the original would have written. */
export function originalFile(password: string, secrets: Record<string, string> | null): Buffer {
  const nonce = randomBytes(12);
  const key = createHash('sha256').update(password).digest();
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([
    nonce,
    cipher.update(JSON.stringify({ secrets })),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}
