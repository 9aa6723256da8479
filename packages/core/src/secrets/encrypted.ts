import { ThvError, conflict, invalid, unavailable } from '@toolhive/contract/failure';
import { shortestPassword } from '@toolhive/contract/secrets';
import type { SecretKey } from '@toolhive/contract/secrets';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { EncryptedFile, present, valueIn, wrongPassword } from './encrypted-file.ts';
import type { EncryptedOptions } from './encrypted-file.ts';
import type { Keyring } from './keyring.ts';
import type { SecretsProvider } from './provider.ts';
import { sealRecord, unlock } from './sealed-file.ts';

/** What a setup found, or did. */
export type SetupOutcome = 'created' | 'imported' | 'kept' | 'password changed';

/**
 * What the daemon keeps for itself beside the secrets: in the same file, under the same key. Nobody can list, resolve
 * or change it as a secret.
 */
export type Vault = Pick<SecretsProvider, 'get' | 'set' | 'delete'>;

/** Begins the names of what is not the user's. No secret can have such a name. */
const ownPrefix = '\0';

/**
 * Secrets in an encrypted file, which the keyring of the system, a passphrase, or either of them opens: then nobody
 * has to type anything, and the passphrase still works when the keyring is lost.
 */
export class EncryptedSecrets implements SecretsProvider {
  readonly type = 'encrypted';
  readonly vault: Vault = {
    get: (name) => this.#get(`${ownPrefix}${name}`),
    set: (name, value) => this.#set(`${ownPrefix}${name}`, value),
    delete: (name) => this.#delete(`${ownPrefix}${name}`),
  };
  readonly #file: EncryptedFile;
  readonly #keyring: Keyring;
  readonly #operations = new SerialQueue();

  constructor(options: EncryptedOptions) {
    this.#file = new EncryptedFile(options);
    this.#keyring = options.keyring;
  }

  /** Can nothing be read before somebody gives the passphrase, or mends the file? */
  isLocked(): Promise<boolean> {
    return this.#operations.run(async () => {
      try {
        await this.#file.open();
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
    return this.#operations.run(async () => {
      this.#file.retryNow();
      const found = await this.#file.find();
      if (found.kind !== 'ours') {
        if (newPassword !== undefined) throw nothingToChange();
        if (found.kind === 'nothing') requireLong(password);
        await this.#file.create(found, password, noWayToOpen);
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
      return fresh === undefined ? 'kept' : 'password changed';
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
        if (error instanceof ThvError) return false; // whoever reads something is told why
        throw error;
      }
    });
  }

  /**
   * Takes the key of the file out of the keyring, and out of memory. Refuses when nobody could open the file then.
   */
  forgetKey(): Promise<void> {
    return this.#operations.run(async () => {
      const found = await this.#file.find();
      const { locks } = found.kind === 'ours' ? found.file : { locks: [] };
      const users = await this.#file.keyringUsersOf(found);
      if (users.length === 0) return;
      if (!locks.some(({ by }) => by === 'passphrase')) {
        throw conflict('only the keyring can open the secrets, and would not be able to any more', {
          hint: 'give them a password first, with `thv secret setup`',
        });
      }
      for (const user of users) {
        if (!(await this.#keyring.delete(user))) {
          throw unavailable('the keyring does not forget the key of the secrets', {
            hint: 'is it there, and open?',
          });
        }
      }
      this.#file.forget();
    });
  }

  async get(name: string): Promise<string | undefined> {
    return name.startsWith(ownPrefix) ? undefined : this.#get(name);
  }

  list(): Promise<SecretKey[]> {
    return this.#operations.run(async () => {
      const names = [...((await this.#file.open())?.records.keys() ?? [])];
      const secrets = names.filter((name) => !name.startsWith(ownPrefix));
      return secrets.toSorted().map((key) => ({ key }));
    });
  }

  async set(name: string, value: string): Promise<void> {
    if (name.startsWith(ownPrefix)) throw invalid('a secret name has no control characters');
    await this.#set(name, value);
  }

  async delete(name: string): Promise<boolean> {
    return name.startsWith(ownPrefix) ? false : this.#delete(name);
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
  throw invalid(`a password for secrets has at least ${shortestPassword} characters`, {
    hint: 'take a few words that do not belong together',
  });
}

function nothingToChange(): ThvError {
  return invalid('there is no encrypted file yet, and so no password to change', {
    hint: 'set secrets up first',
  });
}

function noWayToOpen(): ThvError {
  return invalid('OS keyring is not available, and no password was given for the encrypted secrets', {
    hint: 'give a password, as `thv secret setup` does',
  });
}
