import { createDecipheriv, createHash } from 'node:crypto';

/** Where the original ToolHive keeps its password in the keyring of the system. */
export const originalKeyringUser = 'toolhive';

/** The prefix of passwords that Go's keyring library encodes, as it does on macOS. */
const encodedPrefix = 'go-keyring-base64:';

/** The password in an entry of the keyring that the original wrote. */
export function originalPassword(entry: string): string {
  if (!entry.startsWith(encodedPrefix)) return entry;
  return Buffer.from(entry.slice(encodedPrefix.length), 'base64').toString('utf8');
}

const nonceBytes = 12;
const tagBytes = 16;

/** Too short for anything that the original wrote. */
export function isNoOriginal(bytes: Buffer): boolean {
  return bytes.length <= nonceBytes + tagBytes;
}

/**
 * Decrypts the original's file: a nonce, then AES-256-GCM of JSON with the SHA-256 of a password as the key.
 * Undefined if the password is wrong or the file is damaged, which the file cannot distinguish.
 */
export function readOriginal(bytes: Buffer, password: string): [name: string, value: string][] | undefined {
  const key = createHash('sha256').update(password).digest();
  const tagStart = bytes.length - tagBytes;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(bytes.subarray(tagStart));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, tagStart)), decipher.final()]);
    return entriesOf(JSON.parse(text.toString('utf8')));
  } catch {
    return undefined;
  }
}

/** Not through a schema, which would lose a secret named `__proto__`. An empty map of Go's is null. */
function entriesOf(content: unknown): [string, string][] | undefined {
  const secrets: unknown = (content as { secrets?: unknown } | null)?.secrets ?? {};
  const entries = Object.entries(secrets as object);
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? entries
    : undefined;
}
