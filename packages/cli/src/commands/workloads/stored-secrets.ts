import { randomBytes } from 'node:crypto';
import type { Client } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { createSecret } from '../secrets/setup.ts';

/** Secrets that are stored for a workload. Disposing of this removes them again, unless they are kept. */
export class StoredSecrets implements AsyncDisposable {
  readonly #daemon: Client;
  readonly #call: Pick<CommandCall, 'out' | 'signal'>;
  readonly #stored = new AsyncDisposableStack();
  #isKept = false;

  constructor(daemon: Client, { out, signal }: Pick<CommandCall, 'out' | 'signal'>) {
    this.#daemon = daemon;
    this.#call = { out, signal };
  }

  /** Stores a value under a key, or with a suffix if the key is taken, and returns the key. */
  async store(key: string, value: string): Promise<string> {
    const stored = await this.#create(key, value).catch((thrown: unknown) => {
      if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict') throw thrown;
      return this.#create(`${key}_${randomBytes(4).toString('hex')}`, value);
    });
    this.#stored.defer(() => this.#daemon.deleteSecret({ params: { key: stored } }));
    return stored;
  }

  keep(isToBe: boolean): void {
    this.#isKept = isToBe;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isKept) await this.#stored.disposeAsync();
  }

  async #create(key: string, value: string): Promise<string> {
    await createSecret(this.#daemon, { key, value }, this.#call);
    return key;
  }
}
