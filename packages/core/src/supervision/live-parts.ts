import type { Writable } from 'node:stream';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { Instance } from '@toolhive/runtime/runtime';
import { raiseFault } from '@toolhive/contract/fault';
import type { RemoteAuth } from '@toolhive/remote/remote-auth';

/** What of a workload exists in this moment. */
export class LiveParts {
  /** Undefined while the workload is stopped. */
  proxy: WorkloadProxy | undefined;
  /** The authorization at its remote server. Undefined while the workload does not use one. */
  remote: RemoteAuth | undefined;
  /** The standard input of a program that runs in place of the server. */
  input: Writable | undefined;
  readonly #instances = new Set<Instance>();

  /** The running processes or containers of its server: one, and those of sessions that have their own. */
  get instances(): readonly Instance[] {
    return [...this.#instances];
  }

  /** Adds an instance until its end. */
  add(instance: Instance): void {
    this.#instances.add(instance);
    instance.exited.then(() => this.#instances.delete(instance)).catch(raiseFault);
  }
}
