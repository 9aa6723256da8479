import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  randomUUID,
  scrypt,
  subtle,
  timingSafeEqual,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import * as z from 'zod';

/*
 * The format of the encrypted secrets file:
 *
 * magic | length of the header | header (JSON) | records | seal (32 bytes) | checksum (32 bytes)
 *
 * A record is its length and one name with its value, encrypted with AES-256-GCM under a separate nonce. The seal is
 * an HMAC of everything before it, so that no record can be removed, duplicated, moved, or restored from an older
 * file, and the header cannot change. The checksum is a SHA-256 of everything before it, so that damage is detectable
 * without a key and is never mistaken for a wrong password. Both keys derive from the data key, which the header
 * contains wrapped, once for each way to open the file.
 */
const magic = Buffer.from('toolhive secrets 1\n');
const digestBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const lengthBytes = 4;

/** What scrypt costs. */
export interface ScryptCost {
  N: number;
  r: number;
  p: number;
}

/** For the password of a user: about half a second and 128 MiB, once when the daemon starts. */
export const defaultCost: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };

/** For 256 random bits, which no guesses find at any speed: about four milliseconds and one MiB. */
export const generatedPasswordCost: ScryptCost = { N: 2 ** 10, r: 8, p: 1 };

const Base64 = z.base64().max(256);

/** A way to the data key. The bounds keep a forged file from using up the machine. */
const Lock = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('keyring'), user: z.string().max(256), wrapped: Base64 }),
  z.strictObject({
    by: z.literal('passphrase'),
    kdf: z.literal('scrypt'),
    N: z
      .int()
      .min(2)
      .max(2 ** 18),
    r: z.int().min(1).max(8),
    p: z.int().min(1).max(4),
    salt: Base64,
    wrapped: Base64,
  }),
]);
export type Lock = z.infer<typeof Lock>;

const Header = z.strictObject({ id: z.uuid(), locks: z.array(Lock).min(1).max(8) });

/** A file's data key and the derived keys. It never changes. */
export interface DataKey {
  itself: KeyObject;
  records: KeyObject;
  seal: KeyObject;
}

/** The parts of an undamaged file. None of them is secret. */
export interface SealedFile {
  /** The same for as long as the file lives, and no other file's. */
  id: string;
  locks: readonly Lock[];
  records: readonly Buffer[];
  /** What the seal is of, and the seal. */
  sealed: Buffer;
  seal: Buffer;
}

/** Whether this is the start of such a file, even a damaged one. The original's file starts with random bytes. */
export function looksSealed(bytes: Buffer): boolean {
  const same = magic.filter((byte, index) => byte === bytes[index]).length;
  return same * 2 >= Math.min(magic.length, bytes.length);
}

/** Parses a file. Returns undefined if any byte has changed. */
export async function parseSealed(bytes: Buffer): Promise<SealedFile | undefined> {
  const sealEnd = bytes.length - digestBytes;
  const sealStart = sealEnd - digestBytes;
  if (sealStart < magic.length + lengthBytes || !bytes.subarray(0, magic.length).equals(magic))
    return undefined;
  const checksum = await subtle.digest('SHA-256', bytes.subarray(0, sealEnd));
  if (!bytes.subarray(sealEnd).equals(Buffer.from(checksum))) return undefined;

  const [headerBytes, ...records] = chunksOf(bytes.subarray(magic.length, sealStart)) ?? [];
  const header = Header.safeParse(parseJson(headerBytes));
  if (!header.success) return undefined;
  return {
    ...header.data,
    records,
    sealed: bytes.subarray(0, sealStart),
    seal: bytes.subarray(sealStart, sealEnd),
  };
}

/** Puts a file together. */
export async function buildSealed(
  { id, locks }: Pick<SealedFile, 'id' | 'locks'>,
  records: Iterable<Buffer>,
  dataKey: DataKey,
): Promise<Buffer> {
  const header = Buffer.from(JSON.stringify({ id, locks }));
  const sealed = Buffer.concat([magic, ...[header, ...records].flatMap((part) => [lengthOf(part), part])]);
  const everything = Buffer.concat([sealed, await sealOf(sealed, dataKey)]);
  return Buffer.concat([everything, Buffer.from(await subtle.digest('SHA-256', everything))]);
}

/** The records by name. Undefined if the file was changed without the data key. */
export async function openRecords(
  file: SealedFile,
  dataKey: DataKey,
): Promise<Map<string, Buffer> | undefined> {
  if (!timingSafeEqual(await sealOf(file.sealed, dataKey), file.seal)) return undefined;
  const records = new Map<string, Buffer>();
  for (const record of file.records) {
    const secret = openRecord(record, file.id, dataKey);
    if (secret === undefined || records.has(secret.name)) return undefined;
    records.set(secret.name, record);
  }
  return records;
}

/** One secret in its file format. */
export function sealRecord(name: string, value: string, id: string, dataKey: DataKey): Buffer {
  return encrypt(dataKey.records, Buffer.from(JSON.stringify([name, value])), `record of ${id}`);
}

const Secret = z.tuple([z.string(), z.string()]);

export function openRecord(
  record: Buffer,
  id: string,
  dataKey: DataKey,
): { name: string; value: string } | undefined {
  const secret = Secret.safeParse(parseJson(decrypt(dataKey.records, record, `record of ${id}`)));
  if (!secret.success) return undefined;
  const [name, value] = secret.data;
  return { name, value };
}

/** An identity and a key for a file that does not exist yet. */
export function newFile(): { id: string; dataKey: DataKey } {
  return { id: randomUUID(), dataKey: dataKeyOf(randomBytes(32)) };
}

/** A key for the keyring, as text. */
export function newKeyringKey(): string {
  return randomBytes(32).toString('base64url');
}

/** Wraps the data key with a key that the keyring stores under a user name. */
export function lockByKeyring(
  { user, key }: { user: string; key: string },
  id: string,
  dataKey: DataKey,
): Lock {
  const wrapped = encrypt(keyOfKeyring(key), dataKey.itself.export(), keyringContext(id));
  return { by: 'keyring', user, wrapped: wrapped.toString('base64') };
}

/** Wraps the data key with a passphrase. */
export async function lockByPassphrase(
  passphrase: string,
  id: string,
  dataKey: DataKey,
  cost: ScryptCost,
): Promise<Lock> {
  const parameters = { ...cost, salt: randomBytes(16).toString('base64') };
  const key = await keyOfPassphrase(passphrase, parameters);
  const wrapped = encrypt(key, dataKey.itself.export(), passphraseContext(id, parameters));
  return { by: 'passphrase', kdf: 'scrypt', ...parameters, wrapped: wrapped.toString('base64') };
}

/** Unwraps the data key. Undefined for a wrong key or passphrase. */
export async function unlock(lock: Lock, secret: string, id: string): Promise<DataKey | undefined> {
  const opened =
    lock.by === 'keyring'
      ? decrypt(keyOfKeyring(secret), fromBase64(lock.wrapped), keyringContext(id))
      : decrypt(await keyOfPassphrase(secret, lock), fromBase64(lock.wrapped), passphraseContext(id, lock));
  return opened?.length === 32 ? dataKeyOf(opened) : undefined;
}

function keyringContext(id: string): string {
  return `keyring lock of ${id}`;
}

type ScryptParameters = ScryptCost & { salt: string };

function passphraseContext(id: string, { N, r, p, salt }: ScryptParameters): string {
  return `passphrase lock of ${id} by scrypt ${N} ${r} ${p} ${salt}`;
}

const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt);

async function keyOfPassphrase(passphrase: string, { N, r, p, salt }: ScryptParameters): Promise<KeyObject> {
  // Typed on another keyboard or system, the same letters may come as other code points.
  const bytes = await scryptAsync(passphrase.normalize('NFC'), fromBase64(salt), 32, {
    N,
    r,
    p,
    maxmem: 2 * 128 * N * r + 128 * r * p,
  });
  return createSecretKey(bytes);
}

function keyOfKeyring(keyringKey: string): KeyObject {
  return derivedKey(keyringKey, 'toolhive secrets keyring key');
}

function dataKeyOf(bytes: Buffer): DataKey {
  return {
    itself: createSecretKey(bytes),
    records: derivedKey(bytes, 'toolhive secrets records'),
    seal: derivedKey(bytes, 'toolhive secrets seal'),
  };
}

function derivedKey(key: Buffer | string, use: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', use, 32)));
}

async function sealOf(bytes: Buffer, dataKey: DataKey): Promise<Buffer> {
  const key = await subtle.importKey('raw', dataKey.seal.export(), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  return Buffer.from(await subtle.sign('HMAC', key, bytes));
}

/** A random nonce, the ciphertext, and the tag that also vouches for the context. */
function encrypt(key: KeyObject, plaintext: Buffer, context: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function decrypt(key: KeyObject, bytes: Buffer, context: string): Buffer | undefined {
  const tagStart = bytes.length - tagBytes;
  if (tagStart < nonceBytes) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(tagStart));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, tagStart)), decipher.final()]);
  } catch {
    return undefined; // a wrong key or changed bytes, which look the same
  }
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(part.length);
  return length;
}

/** Parts with a length prefix. Undefined if they do not end with the bytes. */
function chunksOf(bytes: Buffer): Buffer[] | undefined {
  const chunks: Buffer[] = [];
  for (let offset = 0; offset < bytes.length;) {
    if (offset + lengthBytes > bytes.length) return undefined;
    const start = offset + lengthBytes;
    offset = start + bytes.readUInt32BE(offset);
    if (offset > bytes.length) return undefined;
    chunks.push(bytes.subarray(start, offset));
  }
  return chunks;
}

function parseJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}
