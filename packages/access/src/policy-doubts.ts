import type { WorkloadId } from '@toolhive/state/workload-id';
import type { OfferedItems, Policies } from './policies.ts';

/** How many doubts are remembered as told: a server can offer other things in each list. */
const maxTold = 1_000;

/** A server's items, and a number that changes with them. */
export interface OfferSource {
  readonly version: number;
  readonly offered: OfferedItems;
}

interface Entry {
  policies: Policies;
  told: Set<string>;
  /** The doubts about one version of the offer. */
  known?: { version: number; doubts: readonly string[] };
}

/** The running workloads whose policies name items that their servers do not offer. */
export class PolicyDoubts {
  readonly #offerOf: (workload: WorkloadId) => OfferSource;
  readonly #tell: (workload: WorkloadId, doubt: string) => void;
  readonly #entries = new Map<WorkloadId, Entry>();

  /** `tell` gets each doubt once while a workload runs. */
  constructor(
    offerOf: (workload: WorkloadId) => OfferSource,
    tell: (workload: WorkloadId, doubt: string) => void,
  ) {
    this.#offerOf = offerOf;
    this.#tell = tell;
  }

  /** Begins to compare. The result ends that, and must be disposed of before the policies. */
  watch(workload: WorkloadId, policies: Policies): Disposable {
    const entry: Entry = { policies, told: new Set() };
    this.#entries.set(workload, entry);
    this.of(workload);
    return {
      [Symbol.dispose]: () => {
        if (this.#entries.get(workload) === entry) this.#entries.delete(workload);
      },
    };
  }

  /**
   * Returns the names in a workload's policies that its server does not offer. Empty if the server's items are
   * unknown.
   */
  of(workload: WorkloadId): readonly string[] {
    const entry = this.#entries.get(workload);
    if (entry === undefined) return [];
    const offer = this.#offerOf(workload);
    const { version } = offer;
    if (entry.known?.version !== version) {
      entry.known = { version, doubts: entry.policies.doubtsAbout(offer.offered) };
      const untold = entry.known.doubts.filter((doubt) => !entry.told.has(doubt));
      for (const doubt of untold) this.#tell(workload, doubt);
      for (const doubt of untold.slice(0, maxTold - entry.told.size)) entry.told.add(doubt);
    }
    return entry.known.doubts;
  }
}
