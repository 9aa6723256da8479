import { ThvError, conflict, invalid, unavailable } from '@toolhive/contract/failure';
import { inNaturalOrder } from '@toolhive/contract/natural-order';
import { advice, fixes } from '@toolhive/contract/fixes';
import { shortestPassword } from '@toolhive/contract/secrets';
import type { SecretKey } from '@toolhive/contract/secrets';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { EncryptedFile, present, valueIn, wrongPassword } from './encrypted-file.ts';
import type { EncryptedOptions } from './encrypted-file.ts';
import type { Keyring } from './keyring.ts';
import type { SecretsProvider } from './provider.ts';
import { sealRecord, unlock } from './sealed-file.ts';

/** What a setup found, or did. */
export type SetupOutcome = 'created' | 'generated' | 'imported' | 'kept' | 'password changed';

/**
 * The daemon's own data beside the secrets, in the same file under the same key. Users cannot list, read, or change
 * it as a secret.
 */
export interface Vault extends Pick<SecretsProvider, 'get' | 'set' | 'delete'> {
  names: () => Promise<string[]>;
}

/** The prefix of internal names. No secret can have such a name. */
const ownPrefix = '\0';

/**
 * Secrets in an encrypted file, which the system's keyring, a passphrase, or either of them opens. With both, no
 * password is needed, and the passphrase still works if the keyring is lost.
 */
export class EncryptedSecrets implements SecretsProvider {
  readonly type = 'encrypted';
  readonly vault: Vault = {
    get: (name) => this.#get(`${ownPrefix}${name}`),
    set: (name, value) => this.#set(`${ownPrefix}${name}`, value),
    delete: (name) => this.#delete(`${ownPrefix}${name}`),
    names: async () =>
      (await this.#names())
        .filter((name) => name.startsWith(ownPrefix))
        .map((name) => name.slice(ownPrefix.length)),
  };
  readonly #file: EncryptedFile;
  readonly #keyring: Keyring;
  readonly #operations = new SerialQueue();

  constructor(options: EncryptedOptions) {
    this.#file = new EncryptedFile(options);
    this.#keyring = options.keyring;
  }

  /** Whether the secrets are unreadable until the user enters the passphrase or repairs the file. */
  isLocked(): Promise<boolean> {
    return this.#operations.run(async () => {
      try {
        await this.#file.open();
        return false;
      } catch (error) {
        if (error instanceof ThvError) return true; // the next reader receives the error
        throw error;
      }
    });
  }

  /**
   * Creates the file, imports the original's file, or opens the existing one. A given password must match the file,
   * or the function throws `invalid`. A file without a password gets the given one. A new password replaces the old
   * one. Everything is written and read once, so that later failures appear now. With `generate`, a new file that
   * neither a keyring nor a password would open gets a generated password.
   */
  setup(password?: string, newPassword?: string, { generate = false } = {}): Promise<SetupOutcome> {
    return this.#operations.run(async () => {
      this.#file.retryNow();
      const found = await this.#file.find();
      if (found.kind !== 'ours') {
        if (newPassword !== undefined) throw nothingToChange();
        if (found.kind === 'nothing') requireLong(password);
        const mayGenerate = generate && found.kind === 'nothing' && password === undefined;
        const generated = mayGenerate ? await this.#file.generatePassword() : undefined;
        const isGenerated = generated !== undefined;
        await this.#file.create(found, password ?? generated, { isGenerated, fail: noWayToOpen });
        if (isGenerated) return 'generated';
        return found.kind === 'nothing' ? 'created' : 'imported';
      }
      const opened = await this.#file.unlock(found.file, password);
      const existing = opened.locks.find(({ by }) => by === 'passphrase');
      if (existing !== undefined && password !== undefined && !(await unlock(existing, password, opened.id)))
        throw wrongPassword(this.#file.path);
      const fresh = newPassword ?? (existing === undefined ? password : undefined);
      requireLong(fresh);
      const passphrase = fresh === undefined ? existing : await this.#file.passphraseLock(opened, fresh);
      const locks = present(await this.#file.keyringLock(opened), passphrase);
      await this.#file.write({ ...opened, locks });
      await this.#file.open();
      if (fresh === undefined) return 'kept';
      await this.#file.forgetGeneratedPassword();
      return 'password changed';
    });
  }

  /** Is there a file that a password opens? */
  hasPassword(): Promise<boolean> {
    return this.#operations.run(async () => {
      try {
        const found = await this.#file.find();
        if (found.kind === 'ours') return found.file.locks.some(({ by }) => by === 'passphrase');
        return found.kind === 'original';
      } catch (error) {
        if (error instanceof ThvError) return false; // the next reader receives the error
        throw error;
      }
    });
  }

  /** Removes the file's key from the keyring and from memory. Throws if the file could then never be opened. */
  forgetKey(): Promise<void> {
    return this.#operations.run(async () => {
      const found = await this.#file.find();
      const { locks } = found.kind === 'ours' ? found.file : { locks: [] };
      const users = await this.#file.keyringUsersOf(found);
      if (users.length === 0) return;
      if (!locks.some(({ by }) => by === 'passphrase')) {
        throw conflict(
          'without the key in the keyring, nothing could open the secrets',
          advice('set a password first with thv secret setup', fixes.setUpSecrets),
        );
      }
      for (const user of users) {
        if (!(await this.#keyring.delete(user))) {
          throw unavailable('the keyring did not delete its key for the secrets', {
            hint: 'make sure that the keyring is running and unlocked',
          });
        }
      }
      this.#file.forget();
    });
  }

  async get(name: string): Promise<string | undefined> {
    return name.startsWith(ownPrefix) ? undefined : this.#get(name);
  }

  async list(): Promise<SecretKey[]> {
    const secrets = (await this.#names()).filter((name) => !name.startsWith(ownPrefix));
    return secrets.toSorted(inNaturalOrder).map((key) => ({ key }));
  }

  async set(name: string, value: string): Promise<void> {
    if (name.startsWith(ownPrefix)) throw invalid('a secret name cannot contain control characters');
    await this.#set(name, value);
  }

  async delete(name: string): Promise<boolean> {
    return name.startsWith(ownPrefix) ? false : this.#delete(name);
  }

  #names(): Promise<string[]> {
    return this.#operations.run(async () => [...((await this.#file.open())?.records.keys() ?? [])]);
  }

  #get(name: string): Promise<string | undefined> {
    return this.#operations.run(async () => {
      const opened = await this.#file.open();
      return opened && valueIn(opened, name);
    });
  }

  #set(name: string, value: string): Promise<void> {
    return this.#operations.run(async () => {
      const opened = (await this.#file.open()) ?? (await this.#file.create({ kind: 'nothing' }));
      opened.records.set(name, sealRecord(name, value, opened.id, opened.dataKey));
      await this.#file.write(opened);
    });
  }

  #delete(name: string): Promise<boolean> {
    return this.#operations.run(async () => {
      const opened = await this.#file.open();
      if (opened?.records.delete(name) !== true) return false;
      await this.#file.write(opened);
      return true;
    });
  }
}

function requireLong(password: string | undefined): void {
  if (password === undefined || password.length >= shortestPassword) return;
  throw invalid(`a password for secrets must have at least ${shortestPassword} characters`, {
    hint: 'use several unrelated words',
  });
}

function nothingToChange(): ThvError {
  return invalid('no encrypted file exists yet, so its password cannot be changed', {
    hint: 'set up secrets first',
  });
}

function noWayToOpen(): ThvError {
  return invalid(
    'OS keyring is not available, and no password was given for the encrypted secrets',
    advice('set a password with thv secret setup', fixes.setUpSecrets),
  );
}
