import { randomUUID } from 'node:crypto';

import { ThvError, conflict, invalid, tooLarge, unavailable } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { shortestPassword } from '@toolhive/contract/secrets';
import type { SecretKey } from '@toolhive/contract/secrets';
import { readBoundedFile, readIfThere, writeWhole } from '../state/files.ts';
import type { Keyring } from './keyring.ts';
import { isNoOriginal, originalKeyringUser, originalPassword, readOriginal } from './original-file.ts';
import type { SecretsProvider } from './provider.ts';
import {
  buildSealed,
  defaultCost,
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
  /** Has the passphrase in `TOOLHIVE_SECRETS_PASSWORD`, or the file that holds it in `…_PASSWORD_FILE`. */
  env: NodeJS.ProcessEnv;
  keyring: Keyring;
  cost?: ScryptCost;
}

/** What a setup found, or did. */
export type SetupOutcome = 'created' | 'imported' | 'kept' | 'password changed';

/**
 * What the hive keeps for itself beside the secrets: in the same file, under the same key. Nobody can list, resolve
 * or change it as a secret.
 */
export type Vault = Pick<SecretsProvider, 'get' | 'set' | 'delete'>;

/** Begins the names of what is not the user's. No secret can have such a name. */
const ownPrefix = '\0';

/** After a try to open the file that failed. A keyring that does not answer costs seconds, a passphrase half of one. */
const nextTryMs = 5_000;

const maxFileBytes = 32 * 1024 * 1024;

/**
 * Secrets in an encrypted file. Its data key is wrapped by a key in the keyring of the system, by a passphrase, or
 * by both: then the keyring opens it without anybody typing, and the passphrase still does when the keyring is
 * lost. The file is read anew for everything, so that one that was damaged or put back meanwhile is noticed, and
 * never overwritten.
 */
export class EncryptedSecrets implements SecretsProvider {
  readonly type = 'encrypted';
  readonly vault: Vault = {
    get: (name) => this.#get(`${ownPrefix}${name}`),
    set: (name, value) => this.#set(`${ownPrefix}${name}`, value),
    delete: (name) => this.#delete(`${ownPrefix}${name}`),
  };
  readonly #options: EncryptedOptions;
  readonly #changes = new SerialQueue();
  /** Of the file that was opened last. */
  #known: { id: string; dataKey: DataKey } | undefined;
  /** Until then whoever asks is told at once that the secrets are locked. */
  #lockedUntilMs = 0;

  constructor(options: EncryptedOptions) {
    this.#options = options;
  }

  /** Can nothing be read before somebody gives the passphrase, or mends the file? */
  isLocked(): Promise<boolean> {
    return this.#changes.run(async () => {
      try {
        await this.#open();
        return false;
      } catch (error) {
        if (error instanceof ThvError) return true; // whoever reads something is told why
        throw error;
      }
    });
  }

  /**
   * Makes the file if there is none, takes over the original's, or opens the one that is there. A password has to be
   * that of the file, or throws `invalid`; it becomes that of a file that has none. A new one replaces it. Everything
   * is written and read once, so that what could fail later fails now.
   */
  setup(password?: string, newPassword?: string): Promise<SetupOutcome> {
    return this.#changes.run(async () => {
      this.#lockedUntilMs = 0;
      const found = await this.#find();
      if (found.kind !== 'ours') {
        if (newPassword !== undefined) throw nothingToChange();
        if (found.kind === 'nothing') requireLong(password);
        await this.#begin(found, password, noWayToOpen);
        return found.kind === 'nothing' ? 'created' : 'imported';
      }
      const opened = await this.#unlock(found.file, password);
      const existing = opened.locks.find(({ by }) => by === 'passphrase');
      if (existing !== undefined && password !== undefined && !(await unlock(existing, password, opened.id)))
        throw wrongPassword(this.#options.path, setUpWith);
      const fresh = newPassword ?? (existing === undefined ? password : undefined);
      requireLong(fresh);
      const passphrase = fresh === undefined ? existing : await this.#passphraseLock(opened, fresh);
      const locks = present(await this.#keyringLock(opened), passphrase);
      await this.#write({ ...opened, locks });
      await this.#open();
      return fresh === undefined ? 'kept' : 'password changed';
    });
  }

  /** Is there a file that a password opens? */
  hasPassword(): Promise<boolean> {
    return this.#changes.run(async () => {
      try {
        const found = await this.#find();
        if (found.kind === 'ours') return found.file.locks.some(({ by }) => by === 'passphrase');
        return found.kind === 'original';
      } catch (error) {
        if (error instanceof ThvError) return false; // whoever reads something is told why
        throw error;
      }
    });
  }

  /**
   * Takes the key of the file out of the keyring, and out of memory. Refuses when nobody could open the file then.
   */
  forgetKey(): Promise<void> {
    return this.#changes.run(async () => {
      const found = await this.#find();
      const { locks } = found.kind === 'ours' ? found.file : { locks: [] };
      const users = await this.#entriesFor(found);
      if (users.length === 0) return;
      if (!locks.some(({ by }) => by === 'passphrase')) {
        throw conflict('only the keyring can open the secrets, and would not be able to any more', {
          hint: 'give them a password first, with `thv secret setup`',
        });
      }
      for (const user of users) {
        if (!(await this.#options.keyring.delete(user))) {
          throw unavailable('the keyring does not forget the key of the secrets', {
            hint: 'is it there, and open?',
          });
        }
      }
      this.#known = undefined;
      this.#lockedUntilMs = 0;
    });
  }

  async get(name: string): Promise<string | undefined> {
    return name.startsWith(ownPrefix) ? undefined : this.#get(name);
  }

  list(): Promise<SecretKey[]> {
    return this.#changes.run(async () => {
      const names = [...((await this.#open())?.records.keys() ?? [])];
      const secrets = names.filter((name) => !name.startsWith(ownPrefix));
      return secrets.toSorted().map((key) => ({ key }));
    });
  }

  async set(name: string, value: string): Promise<void> {
    if (name.startsWith(ownPrefix)) throw invalid('the name of a secret has no control characters');
    await this.#set(name, value);
  }

  async delete(name: string): Promise<boolean> {
    return name.startsWith(ownPrefix) ? false : this.#delete(name);
  }

  #get(name: string): Promise<string | undefined> {
    return this.#changes.run(async () => {
      const opened = await this.#open();
      return opened && valueIn(opened, name);
    });
  }

  #set(name: string, value: string): Promise<void> {
    return this.#changes.run(async () => {
      const opened = (await this.#open()) ?? (await this.#begin({ kind: 'nothing' }));
      opened.records.set(name, sealRecord(name, value, opened.id, opened.dataKey));
      await this.#write(opened);
    });
  }

  #delete(name: string): Promise<boolean> {
    return this.#changes.run(async () => {
      const opened = await this.#open();
      if (opened?.records.delete(name) !== true) return false;
      await this.#write(opened);
      return true;
    });
  }

  /** Undefined when there is no file, which holds nothing; the first change makes one. */
  async #open(): Promise<OpenFile | undefined> {
    const found = await this.#find();
    if (found.kind === 'nothing') return undefined;
    if (performance.now() < this.#lockedUntilMs) throw locked();
    return found.kind === 'ours' ? this.#unlock(found.file) : this.#begin(found);
  }

  async #find(): Promise<Found> {
    const { path } = this.#options;
    const bytes = await readBounded(path);
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
   * Makes the first file of ours, with what the original's holds; that one is replaced when ours is known to open.
   * Without any way to open it again: `fail`.
   */
  async #begin(
    found: Exclude<Found, { kind: 'ours' }>,
    given?: string,
    fail: () => ThvError = () => this.#lock(),
  ): Promise<OpenFile> {
    const { password, entries } =
      found.kind === 'nothing'
        ? { password: given ?? (await this.#passwordFromEnvironment()), entries: [] }
        : await this.#readOriginal(found.bytes, given);
    const { id, dataKey } = newFile();
    const passphrase =
      password === undefined ? undefined : await this.#passphraseLock({ id, dataKey }, password);
    const locks = present(await this.#keyringLock({ id, dataKey, locks: [] }), passphrase);
    if (locks.length === 0) throw fail();

    const records = new Map(entries.map(([name, value]) => [name, sealRecord(name, value, id, dataKey)]));
    const file = { id, locks, dataKey, records };
    await this.#prove(await buildSealed(file, records.values(), dataKey), entries, password);
    await this.#write(file);
    this.#known = { id, dataKey };
    return file;
  }

  /** Opens what is about to be written as a later hive will, and compares what is in it. */
  async #prove(bytes: Buffer, entries: readonly Entry[], password: string | undefined): Promise<void> {
    const file = await parseSealed(bytes);
    const opened = file && (await this.#unlock(file, password));
    const isThere = ([name, value]: Entry): boolean =>
      opened !== undefined && valueIn(opened, name) === value;
    if (opened?.records.size === entries.length && entries.every(isThere)) return;
    throw unavailable('the encrypted file could not be made: what was written could not be read again');
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
    const candidates = [kept && originalPassword(kept), await this.#passwordFromEnvironment()];
    for (const password of candidates) {
      const entries = password && readOriginal(bytes, password);
      if (password && entries) return { password, entries };
    }
    throw this.#lock();
  }

  async #unlock(file: SealedFile, given?: string): Promise<OpenFile> {
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
        lock.by === 'keyring'
          ? [await keyring.get(lock.user)]
          : [await this.#passwordFromEnvironment(), given];
      for (const secret of new Set(secrets)) {
        const dataKey = secret === undefined ? undefined : await unlock(lock, secret, id);
        if (dataKey !== undefined) return dataKey;
      }
    }
    if (given !== undefined && locks.some(({ by }) => by === 'passphrase'))
      throw wrongPassword(path, setUpWith);
    throw this.#lock();
  }

  #passphraseLock({ id, dataKey }: Pick<OpenFile, 'id' | 'dataKey'>, password: string): Promise<Lock> {
    return lockByPassphrase(password, id, dataKey, this.#options.cost ?? defaultCost);
  }

  /** The lock that the keyring opens: one for which it has the key, a new one, or none without a keyring. */
  async #keyringLock({
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
   * What the keyring may have that opens this file: our key, and the password of the original if it is this file's.
   * Our key is named unseen: a keyring that is locked gives nothing, and still has it.
   */
  async #entriesFor(found: Found): Promise<string[]> {
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

  #lock(): ThvError {
    this.#lockedUntilMs = performance.now() + nextTryMs;
    return locked();
  }

  async #passwordFromEnvironment(): Promise<string | undefined> {
    const { env } = this.#options;
    const file = env['TOOLHIVE_SECRETS_PASSWORD_FILE'];
    if (env['TOOLHIVE_SECRETS_PASSWORD']) return env['TOOLHIVE_SECRETS_PASSWORD'];
    if (!file) return undefined;
    const text = await readIfThere(file).catch((cause: unknown) => {
      throw unavailable(`the file that TOOLHIVE_SECRETS_PASSWORD_FILE names cannot be read`, { cause });
    });
    return text?.replace(/\r?\n$/, '') || undefined;
  }

  async #write({ id, locks, dataKey, records }: OpenFile): Promise<void> {
    const { path } = this.#options;
    const bytes = await buildSealed({ id, locks }, records.values(), dataKey);
    if (bytes.length > maxFileBytes) throw tooLarge('all secrets together are larger than 32 MiB');
    await writeWhole(path, bytes);
  }
}

type Entry = [name: string, value: string];

type Found = { kind: 'nothing' } | { kind: 'original'; bytes: Buffer } | { kind: 'ours'; file: SealedFile };

interface OpenFile {
  id: string;
  locks: readonly Lock[];
  dataKey: DataKey;
  records: Map<string, Buffer>;
}

function present(...locks: (Lock | undefined)[]): Lock[] {
  return locks.filter((lock) => lock !== undefined);
}

function valueIn({ id, dataKey, records }: OpenFile, name: string): string | undefined {
  const record = records.get(name);
  return record && openRecord(record, id, dataKey)?.value;
}

async function readBounded(path: string): Promise<Buffer | undefined> {
  try {
    return await readBoundedFile(path, {
      maxBytes: maxFileBytes,
      notAFile: () => unavailable(`${path} cannot be read: it is not a file`),
      tooLarge: () => conflict(`${path} is larger than 32 MiB`, { hint: restoreHint }),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== undefined) throw unavailable(`${path} cannot be read: ${code}`, { cause: error });
    throw error;
  }
}

const restoreHint = 'restore the file from a copy, or move it away to begin without secrets';

function damaged(path: string): ThvError {
  return conflict(`${path} is damaged, or made by a newer ToolHive; it is left as it is`, {
    hint: restoreHint,
  });
}

const setUpWith = 'the secrets were set up with';

function wrongPassword(path: string, which: string): ThvError {
  return invalid(`the password does not open ${path}`, { hint: `give the password that ${which}` });
}

function requireLong(password: string | undefined): void {
  if (password === undefined || password.length >= shortestPassword) return;
  throw invalid(`a password for secrets has at least ${shortestPassword} characters`, {
    hint: 'take a few words that do not belong together',
  });
}

function nothingToChange(): ThvError {
  return invalid('there is no encrypted file yet, and so no password to change', {
    hint: 'set secrets up first',
  });
}

function locked(): ThvError {
  return unavailable('the secrets are locked', {
    hint: 'set secrets up again with their password (`thv secret setup`), or start the hive with it in TOOLHIVE_SECRETS_PASSWORD or in a file that TOOLHIVE_SECRETS_PASSWORD_FILE names',
  });
}

function noWayToOpen(): ThvError {
  return invalid('OS keyring is not available, and no password was given for the encrypted secrets', {
    hint: 'give a password, as `thv secret setup` does',
  });
}
