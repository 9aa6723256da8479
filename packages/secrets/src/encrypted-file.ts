import { randomBytes, randomUUID } from 'node:crypto';
import { conflict, invalid, tooLarge, unavailable } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import { readBoundedFile, readIfThere, removeFile, writeWhole } from '@toolhive/state/files';
import type { Keyring } from './keyring.ts';
import { isNoOriginal, originalKeyringUser, originalPassword, readOriginal } from './original-file.ts';
import {
  buildSealed,
  defaultCost,
  generatedPasswordCost,
  lockByKeyring,
  lockByPassphrase,
  looksSealed,
  newFile,
  newKeyringKey,
  openRecord,
  openRecords,
  parseSealed,
  sealRecord,
  unlock,
} from './sealed-file.ts';
import type { DataKey, Lock, ScryptCost, SealedFile } from './sealed-file.ts';

export interface EncryptedOptions {
  path: string;
  /** The passphrase is in `TOOLHIVE_SECRETS_PASSWORD`, or in the file that `…_PASSWORD_FILE` names. */
  env: NodeJS.ProcessEnv;
  keyring: Keyring;
  cost?: ScryptCost;
}

/** After a try to open the file that failed. A keyring that does not answer costs seconds, a passphrase half of one. */
const nextTryMs = 5_000;

const maxFileBytes = 32 * 1024 * 1024;

/**
 * The encrypted secrets file and its locks: a key in the system's keyring, a passphrase, or both wrap the data key.
 * Every operation reads the file again, so that a damaged or restored file is detected and never overwritten. Callers
 * run one operation at a time.
 */
export class EncryptedFile {
  readonly #options: EncryptedOptions;
  /** The data key of the file that was opened last. */
  #known: { id: string; dataKey: DataKey } | undefined;
  /** Until then, operations fail immediately because the secrets are locked. */
  #lockedUntilMs = 0;

  constructor(options: EncryptedOptions) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Opens the file, after importing the original ToolHive's file. Undefined if neither file exists. */
  async open(): Promise<OpenFile | undefined> {
    const found = await this.find();
    if (found.kind === 'nothing') return undefined;
    if (performance.now() < this.#lockedUntilMs) throw locked();
    return found.kind === 'ours' ? this.unlock(found.file) : this.create(found);
  }

  /** Reads the file. Throws `conflict` if it is damaged. */
  async find(): Promise<Found> {
    const { path } = this.#options;
    const bytes = await readFileIfThere(path);
    if (bytes === undefined) return { kind: 'nothing' };
    if (bytes.length === 0) throw conflict(`${path} is empty`, { hint: restoreHint });
    if (!looksSealed(bytes)) {
      if (isNoOriginal(bytes)) throw damaged(path);
      return { kind: 'original', bytes };
    }
    const file = await parseSealed(bytes);
    if (file === undefined) throw damaged(path);
    return { kind: 'ours', file };
  }

  /**
   * Creates the file with the secrets from the original's file, which it replaces after a successful test. Throws the
   * error of `fail` if neither a keyring nor a password could open the new file later. `isGenerated` tells of `given`.
   */
  async create(
    found: Exclude<Found, { kind: 'ours' }>,
    given?: string,
    { isGenerated = false, fail = (): ThvError => this.#lock() } = {},
  ): Promise<OpenFile> {
    const { password, entries } =
      found.kind === 'nothing'
        ? { password: given ?? (await this.#untypedPassword()), entries: [] }
        : await this.#readOriginal(found.bytes, given);
    const { id, dataKey } = newFile();
    const cost = isGenerated ? generatedPasswordCost : this.#passwordCost;
    const passphrase =
      password === undefined ? undefined : await lockByPassphrase(password, id, dataKey, cost);
    const locks = present(await this.keyringLock({ id, dataKey, locks: [] }), passphrase);
    if (locks.length === 0) throw fail();

    const records = new Map(entries.map(([name, value]) => [name, sealRecord(name, value, id, dataKey)]));
    const file = { id, locks, dataKey, records };
    await this.#prove(await buildSealed(file, records.values(), dataKey), entries, password);
    await this.write(file);
    this.#known = { id, dataKey };
    return file;
  }

  /** Opens the new file as a later daemon will, and compares its content. */
  async #prove(bytes: Buffer, entries: readonly Entry[], password: string | undefined): Promise<void> {
    const file = await parseSealed(bytes);
    const opened = file && (await this.unlock(file, password));
    const isThere = ([name, value]: Entry): boolean =>
      opened !== undefined && valueIn(opened, name) === value;
    if (opened?.records.size === entries.length && entries.every(isThere)) return;
    throw unavailable('the encrypted file could not be created, because reading it back failed');
  }

  /** A new lock for the file, which the password of the user opens. */
  passphraseLock({ id, dataKey }: Pick<OpenFile, 'id' | 'dataKey'>, password: string): Promise<Lock> {
    return lockByPassphrase(password, id, dataKey, this.#passwordCost);
  }

  get #passwordCost(): ScryptCost {
    return this.#options.cost ?? defaultCost;
  }

  /** The keyring lock: with the existing key, a new key, or undefined without a keyring. */
  async keyringLock({
    id,
    dataKey,
    locks,
  }: Pick<OpenFile, 'id' | 'dataKey' | 'locks'>): Promise<Lock | undefined> {
    const { keyring } = this.#options;
    const existing = locks.find((lock) => lock.by === 'keyring');
    const kept = existing && (await keyring.get(existing.user));
    if (existing && kept !== undefined && (await unlock(existing, kept, id))) return existing;
    // Under a name that nothing has yet: no entry of the keyring is ever written over.
    const user = `${originalKeyringUser}-${randomUUID()}`;
    const key = newKeyringKey();
    const isKept = (await keyring.isAvailable()) && (await keyring.set(user, key));
    return isKept ? lockByKeyring({ user, key }, id, dataKey) : existing;
  }

  /**
   * The keyring entries that may open this file: ToolHive's key, and the original's password if it belongs to this
   * file. ToolHive's key is named without reading it, because a locked keyring returns nothing but still has the key.
   */
  async keyringUsersOf(found: Found): Promise<string[]> {
    const { keyring } = this.#options;
    if (found.kind !== 'ours') return [];
    const { locks, id } = found.file;
    const users: string[] = [];
    for (const lock of locks) {
      if (lock.by === 'keyring') {
        users.push(lock.user);
        continue;
      }
      const kept = await keyring.get(originalKeyringUser);
      if (kept !== undefined && (await unlock(lock, originalPassword(kept), id)))
        users.push(originalKeyringUser);
    }
    return users;
  }

  /** Replaces the file. */
  async write({ id, locks, dataKey, records }: OpenFile): Promise<void> {
    const { path } = this.#options;
    const bytes = await buildSealed({ id, locks }, records.values(), dataKey);
    if (bytes.length > maxFileBytes) throw tooLarge('all secrets together are larger than 32 MiB');
    await writeWhole(path, bytes);
  }

  /** Forgets the key of the file. */
  forget(): void {
    this.#known = undefined;
    this.#lockedUntilMs = 0;
  }

  /** Lets the next call try to open the file, even shortly after a failure. */
  retryNow(): void {
    this.#lockedUntilMs = 0;
  }

  /**
   * Opens a file with the key in memory, or else with the keyring or a password. Throws `unavailable` if none of them
   * works.
   */
  async unlock(file: SealedFile, given?: string): Promise<OpenFile> {
    const { path } = this.#options;
    const dataKey =
      this.#known?.id === file.id ? this.#known.dataKey : await this.#dataKeyBehind(file, given);
    const records = await openRecords(file, dataKey);
    if (records === undefined) throw damaged(path);
    this.#known = { id: file.id, dataKey };
    return { id: file.id, locks: file.locks, dataKey, records };
  }

  async #dataKeyBehind({ id, locks }: SealedFile, given: string | undefined): Promise<DataKey> {
    const { path, keyring } = this.#options;
    for (const lock of locks) {
      const secrets =
        lock.by === 'keyring' ? [await keyring.get(lock.user)] : [await this.#untypedPassword(), given];
      for (const secret of new Set(secrets)) {
        const dataKey = secret === undefined ? undefined : await unlock(lock, secret, id);
        if (dataKey !== undefined) return dataKey;
      }
    }
    if (given !== undefined && locks.some(({ by }) => by === 'passphrase')) throw wrongPassword(path);
    throw this.#lock();
  }

  async #readOriginal(
    bytes: Buffer,
    given: string | undefined,
  ): Promise<{ password: string; entries: Entry[] }> {
    const { path, keyring } = this.#options;
    if (given !== undefined) {
      const entries = readOriginal(bytes, given);
      if (entries === undefined) throw wrongPassword(path, 'the original ToolHive had');
      return { password: given, entries };
    }
    const kept = await keyring.get(originalKeyringUser);
    const candidates = [kept && originalPassword(kept), await this.#untypedPassword()];
    for (const password of candidates) {
      const entries = password && readOriginal(bytes, password);
      if (password && entries) return { password, entries };
    }
    throw this.#lock();
  }

  #lock(): ThvError {
    this.#lockedUntilMs = performance.now() + nextTryMs;
    return locked();
  }

  /**
   * Generates a password and stores it beside the file, readable by the user alone. This is for systems without a keyring
   * and a terminal: programs of the user can read the secrets, but a copy of the encrypted file is useless.
   */
  async generatePassword(): Promise<string | undefined> {
    if (await this.#options.keyring.isAvailable()) return undefined;
    if ((await this.#untypedPassword()) !== undefined) return undefined;
    const password = randomBytes(32).toString('base64url');
    await writeWhole(this.#passwordPath, `${password}\n`);
    return password;
  }

  /** Removes the generated password, which opens the file no more. */
  forgetGeneratedPassword(): Promise<void> {
    return removeFile(this.#passwordPath);
  }

  get #passwordPath(): string {
    return `${this.#options.path}.password`;
  }

  /** The password that is not typed: from the environment, or the generated one. */
  async #untypedPassword(): Promise<string | undefined> {
    const { env } = this.#options;
    const file = env['TOOLHIVE_SECRETS_PASSWORD_FILE'];
    if (env['TOOLHIVE_SECRETS_PASSWORD']) return env['TOOLHIVE_SECRETS_PASSWORD'];
    const text = await readIfThere(file || this.#passwordPath).catch((cause: unknown) => {
      const what = file ? 'the file that TOOLHIVE_SECRETS_PASSWORD_FILE names' : this.#passwordPath;
      throw unavailable(`${what} cannot be read`, { cause });
    });
    return text?.replace(/\r?\n$/, '') || undefined;
  }
}

type Entry = [name: string, value: string];

type Found = { kind: 'nothing' } | { kind: 'original'; bytes: Buffer } | { kind: 'ours'; file: SealedFile };

export interface OpenFile {
  id: string;
  locks: readonly Lock[];
  dataKey: DataKey;
  records: Map<string, Buffer>;
}

export function present(...locks: (Lock | undefined)[]): Lock[] {
  return locks.filter((lock) => lock !== undefined);
}

export function valueIn({ id, dataKey, records }: OpenFile, name: string): string | undefined {
  const record = records.get(name);
  return record && openRecord(record, id, dataKey)?.value;
}

async function readFileIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readBoundedFile(path, {
      maxBytes: maxFileBytes,
      notAFile: () => unavailable(`${path} cannot be read: not a regular file`),
      tooLarge: () => conflict(`${path} is larger than 32 MiB`, { hint: restoreHint }),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== undefined) throw unavailable(`${path} cannot be read: ${code}`, { cause: error });
    throw error;
  }
}

const restoreHint = 'restore the file from a backup, or move it away to start without secrets';

function damaged(path: string): ThvError {
  return conflict(
    `${path} is damaged, or was created by a newer version of ToolHive. ToolHive does not change it`,
    {
      hint: restoreHint,
    },
  );
}

/** `which` continues "enter the password that". */
export function wrongPassword(path: string, which = 'the secrets were set up with'): ThvError {
  return invalid(`wrong password for ${path}`, { hint: `enter the password that ${which}` });
}

function locked(): ThvError {
  return unavailable(
    'the secrets are locked',
    advice(
      'unlock the secrets with thv secret setup, or start the daemon with the password in TOOLHIVE_SECRETS_PASSWORD or in a file that TOOLHIVE_SECRETS_PASSWORD_FILE names',
      fixes.unlockSecrets,
    ),
  );
}
