import { isRecent } from '@toolhive/contract/clock';
import { messageOf } from '@toolhive/contract/failure';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Item } from './items.ts';
import type { PinStore, PinnedKind, StoredKind, StoredVersion } from './pin-store.ts';

/** The first use of a kind of items ends with the first complete list. A server that never completes one has this long. */
export const firstUseMs = 60 * 60 * 1000;
/** Longer contents are recorded as their hash only. */
const maxContent = 128 * 1024;
/** The same when the contents of one server are longer together. */
const maxContents = 16 * 1024 * 1024;

export interface PinRecordsOptions {
  store: PinStore;
  /** Told how many items wait for approval, whenever that changes. */
  onPending: (count: number) => void;
  /** Writes to the proxy's log, where its user looks first. */
  note: (fields: Record<string, unknown>, message: string) => void;
  now: () => Date;
}

/** The versions to write after a part of a list was examined. */
export interface Changed {
  saved: (StoredVersion & { content: string | undefined })[];
  forgotten: StoredVersion[];
}

/** What is recorded of the items of one server, in memory and in the store. */
export class PinRecords {
  readonly #workload: WorkloadId;
  readonly #options: PinRecordsOptions;
  readonly #items = new Map<string, Item>();
  readonly #kinds = new Map<PinnedKind, StoredKind>();
  #bytes = 0;
  /** Changes with the records. */
  version = 0;

  constructor(workload: WorkloadId, options: PinRecordsOptions) {
    this.#workload = workload;
    this.#options = options;
    const { kinds, versions } = options.store.read(workload);
    for (const kind of kinds) this.#kinds.set(kind.kind, kind);
    for (const version of versions) {
      const item = this.add(version.kind, version.name);
      if (version.isApproved) item.approved.push(version);
      else item.pending = version;
      this.#bytes += version.bytes;
    }
  }

  /** The content of a version. Undefined if it was too long to store. */
  readonly contentOf = (version: StoredVersion): string | undefined =>
    this.#options.store.contentOf(this.#workload, version);

  get size(): number {
    return this.#items.size;
  }

  all(): IterableIterator<Item> {
    return this.#items.values();
  }

  find(kind: PinnedKind, name: string): Item | undefined {
    return this.#items.get(keyOf(kind, name));
  }

  /** The item, which is new if it was not known. */
  add(kind: PinnedKind, name: string): Item {
    const item = this.find(kind, name) ?? { kind, name, approved: [], isListed: true };
    this.#items.set(keyOf(kind, name), item);
    return item;
  }

  delete({ kind, name }: Item): void {
    this.#items.delete(keyOf(kind, name));
  }

  waiting(): Item[] {
    return [...this.#items.values()].filter(({ pending }) => pending !== undefined);
  }

  /** What waits for approval first. */
  sorted(): Item[] {
    const items = [...this.#items.values()];
    return [...items.filter(({ pending }) => pending), ...items.filter(({ pending }) => !pending)];
  }

  /** How many bytes of a content are stored: all or none. */
  room(content: string): number {
    const fits = content.length <= maxContent && this.#bytes + content.length <= maxContents;
    return fits ? content.length : 0;
  }

  /** Counts a version that will be saved. */
  count({ bytes }: StoredVersion): void {
    this.#bytes += bytes;
    this.version += 1;
  }

  /** Does not count a version any more. */
  drop({ bytes }: StoredVersion): void {
    this.#bytes -= bytes;
  }

  /** Marks an item as listed or not. */
  setListed(item: Item, isListed: boolean): void {
    if (item.isListed === isListed) return;
    item.isListed = isListed;
    this.version += 1;
  }

  /** Whether a kind has been listed before. */
  isKnown(kind: PinnedKind): boolean {
    return this.#kinds.has(kind);
  }

  /** Whether all items of a kind are known. */
  isListed(kind: PinnedKind): boolean {
    return this.#kinds.get(kind)?.isOver === true;
  }

  /** Returns whether this is the first use of a kind, in which everything is approved. */
  beginKind(kind: PinnedKind): boolean {
    if (!this.#kinds.has(kind)) {
      this.#saveKind({ kind, beganAt: this.#options.now().toISOString(), isOver: false });
    }
    return this.isFirstUse(kind);
  }

  isFirstUse(kind: PinnedKind): boolean {
    const known = this.#kinds.get(kind);
    if (known === undefined) return true;
    return !known.isOver && isRecent(Date.parse(known.beganAt), firstUseMs, this.#options.now().getTime());
  }

  /** Ends the first use of a kind. Returns false if it was over. */
  endFirstUse(kind: PinnedKind): boolean {
    const known = this.#kinds.get(kind);
    if (known === undefined || known.isOver) return false;
    this.#saveKind({ ...known, isOver: true });
    this.version += 1;
    return true;
  }

  /** Writes the changes of a list. A read-only disk does not keep clients from the server. */
  tryWrite({ saved, forgotten }: Changed): void {
    if (saved.length === 0 && forgotten.length === 0) return;
    this.#orLogged(() => {
      this.#options.store.save(this.#workload, saved);
      this.#options.store.forget(this.#workload, forgotten);
    });
    this.#options.onPending(this.waiting().length);
  }

  /** Writes a decision of the user. Throws if it cannot be stored. */
  write({ saved, forgotten }: Changed): void {
    this.#options.store.save(this.#workload, saved);
    this.#options.store.forget(this.#workload, forgotten);
    this.version += 1;
    this.#options.onPending(this.waiting().length);
  }

  #saveKind(kind: StoredKind): void {
    this.#kinds.set(kind.kind, kind);
    this.#orLogged(() => this.#options.store.saveKind(this.#workload, kind));
  }

  #orLogged(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.note({ why: messageOf(error) }, 'pinned tools could not be saved');
    }
  }
}

const keyOf = (kind: PinnedKind, name: string): string => `${kind} ${name}`;
