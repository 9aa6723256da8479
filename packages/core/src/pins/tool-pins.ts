import type { ToolPinningMode } from '@toolhive/contract/tool-pins';
import type { Pins } from '@toolhive/proxy/tool-pinning';
import type { Logger } from 'pino';
import type { OfferSource } from '@toolhive/access/policy-doubts';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Annotations } from '@toolhive/access/annotations';
import type { PinStore } from './pin-store.ts';
import { WorkloadPins } from './workload-pins.ts';
import type { PinChange } from './change-reports.ts';
import type { PartRun } from '../parts/part.ts';

type Note = (fields: Record<string, unknown>, message: string) => void;

export interface ToolPinsOptions {
  /** The current name of a workload. Undefined if the workload no longer exists. */
  nameOf: (workload: WorkloadId) => string | undefined;
  /** The current pinning mode of a workload. */
  modeOf: (workload: WorkloadId) => ToolPinningMode;
  onChanges: (workload: WorkloadId, changes: readonly PinChange[]) => void;
  /** Told when all items of a kind are known for the first time. */
  onListed: (workload: WorkloadId) => void;
  log: Logger;
  now: () => Date;
}

/** The recorded definitions of all servers' tools, and their approvals. */
export class ToolPinsOfAll {
  readonly title = 'the approved tools';
  readonly #store: PinStore;
  readonly #options: ToolPinsOptions;
  readonly #workloads = new Map<WorkloadId, WorkloadPins>();
  /** The destination of notes: the log of a running proxy. */
  readonly #notes = new Map<WorkloadId, Note>();
  readonly #pending: Map<WorkloadId, number>;

  constructor(store: PinStore, options: ToolPinsOptions) {
    this.#store = store;
    this.#options = options;
    this.#pending = store.pending();
  }

  /** What was recorded of a workload. */
  of(workload: WorkloadId): WorkloadPins {
    const known = this.#workloads.get(workload);
    if (known !== undefined) return known;
    const { nameOf, modeOf, onChanges, onListed, now } = this.#options;
    const pins = new WorkloadPins(workload, {
      store: this.#store,
      nameOf,
      mode: () => modeOf(workload),
      onChanges: (changes) => onChanges(workload, changes),
      onListed: () => onListed(workload),
      onPending: (count) => this.#pending.set(workload, count),
      note: (fields, message) => this.note(workload, fields, message),
      now,
    });
    this.#workloads.set(workload, pins);
    return pins;
  }

  /** The same for a proxy, which loads the records with the server's first list. `note` writes to the proxy's log. */
  forProxy(workload: WorkloadId, note: Note): Pins {
    this.#notes.set(workload, note);
    const pins = (): WorkloadPins => this.of(workload);
    return {
      get version() {
        return pins().version;
      },
      get isEnforced() {
        return pins().isEnforced;
      },
      review: (listing) => pins().review(listing),
      refusalOf: (kind, name) => pins().refusalOf(kind, name),
      refusalOfFile: (uri, digestsOf) => pins().refusalOfFile(uri, digestsOf),
      annotationsOf: (tool) => pins().annotationsOf(tool),
      listedResources: () => pins().listedResources(),
    };
  }

  /** Writes to the proxy's log, where its user looks first. */
  note(workload: WorkloadId, fields: Record<string, unknown>, message: string): void {
    const note = this.#notes.get(workload);
    if (note === undefined)
      this.#options.log.warn({ workload: this.#options.nameOf(workload), ...fields }, message);
    else note(fields, message);
  }

  /** What a server offers, as far as that is known. Nothing is known if its tools are not pinned. */
  offerOf(workload: WorkloadId): OfferSource {
    return this.#options.modeOf(workload) === 'off' ? { version: -1, offered: {} } : this.of(workload);
  }

  /** The annotations of a tool that the user has approved. Undefined if its tools are not pinned. */
  annotationsOf(workload: WorkloadId, tool: string): Annotations | undefined {
    return this.#options.modeOf(workload) === 'off' ? undefined : this.of(workload).annotationsOf(tool);
  }

  /** The resources and templates in the latest lists of a server. Empty if its tools are not pinned. */
  listedResources(workload: WorkloadId): readonly string[] {
    return this.#options.modeOf(workload) === 'off' ? [] : this.of(workload).listedResources();
  }

  /** How many items of a workload wait for approval. */
  pendingOf(workload: WorkloadId): number {
    return this.#pending.get(workload) ?? 0;
  }

  proxyOptions({ id }: StoredRunConfig, { warn }: PartRun): Partial<ProxyOptions> {
    return this.#options.modeOf(id) === 'off' ? {} : { pins: this.forProxy(id, warn) };
  }

  /** The workloads that something is recorded of. */
  ids(): WorkloadId[] {
    return this.#store.rows.ids();
  }

  forget(workload: WorkloadId): void {
    this.#workloads.delete(workload);
    this.#notes.delete(workload);
    this.#pending.delete(workload);
    this.#store.rows.forget(workload);
  }
}
