import { createHmac, randomBytes } from 'node:crypto';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { TrafficLog } from './traffic-log.ts';
import type { TrafficLogOptions } from './traffic-log.ts';

/** How many IDs of sessions are kept, because a session makes many calls. */
const maxPublicIds = 1_000;
/** Servers choose the IDs, and longer ones could take much memory. */
const maxKeptLength = 256;

/** The latest calls of all workloads, until the daemon ends. */
export class TrafficOfAll implements Disposable {
  readonly title = 'the calls';
  readonly #options: Omit<TrafficLogOptions, 'publicId'>;
  /** Session IDs of servers may be so short that they could be guessed from a plain hash. */
  readonly #key = randomBytes(32);
  readonly #publicIds = new Map<string, string>();
  readonly #logs = new Map<WorkloadId, TrafficLog>();

  constructor(options: Omit<TrafficLogOptions, 'publicId'>) {
    this.#options = options;
  }

  /** The ID of a session in the API, the same until the daemon ends. */
  publicId(session: string): string {
    const known = this.#publicIds.get(session);
    if (known !== undefined) return known;
    const id = createHmac('sha256', this.#key).update(session).digest('hex').slice(0, 16);
    if (this.#publicIds.size >= maxPublicIds) this.#publicIds.clear();
    if (session.length <= maxKeptLength) this.#publicIds.set(session, id);
    return id;
  }

  of(workload: WorkloadId): TrafficLog {
    const known = this.#logs.get(workload);
    if (known !== undefined) return known;
    const log = new TrafficLog(workload, {
      ...this.#options,
      publicId: (session) => this.publicId(session),
    });
    this.#logs.set(workload, log);
    return log;
  }

  proxyOptions({ id }: StoredRunConfig): Partial<ProxyOptions> {
    return { traffic: this.of(id) };
  }

  /** The workloads that calls are remembered of. */
  ids(): Iterable<WorkloadId> {
    return this.#logs.keys();
  }

  forget(workload: WorkloadId): void {
    this.#logs.get(workload)?.close();
    this.#logs.delete(workload);
  }

  [Symbol.dispose](): void {
    for (const log of this.#logs.values()) log.close();
  }
}
