import { createDecipheriv, createHash } from 'node:crypto';

/** Where the original ToolHive keeps its password in the keyring of the system. */
export const originalKeyringUser = 'toolhive';

/** What Go's keyring library writes before a password that it encoded, as it does on macOS. */
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
 * Reads the file of the original: a nonce, then AES-256-GCM of JSON under the SHA-256 of a password. Undefined
 * when it is not this password's, or damaged; the file does not tell which.
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
