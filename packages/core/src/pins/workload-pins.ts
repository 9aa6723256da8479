import { setImmediate as nextTurn } from 'node:timers/promises';
import { conflict, messageOf } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { PinDecision, PinnedItem, ToolPinningMode, ToolPins } from '@toolhive/contract/tool-pins';
import type { ListedItem, Listing, Pins, Review } from '@toolhive/proxy/tool-pinning';
import type { OfferedItems } from '@toolhive/access/policies';
import { annotationsIn } from './annotations.ts';
import type { Annotations } from './annotations.ts';
import { changedMembers, unifiedDiff, versionOf } from './difference.ts';
import { findingsIn } from './findings.ts';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { PinStore, PinnedKind, StoredKind, StoredVersion } from './pin-store.ts';

/** A change since the user's approval, or a suspicious feature. */
export interface PinChange {
  kind: PinnedKind;
  item: string;
  change: 'changed' | 'new' | 'removed' | 'suspicious';
}

/** Whether the user has approved an item, for the list of a server's items. */
export interface ItemPin {
  state: PinnedItem['state'];
  /** The version that the server lists. */
  hash?: string;
  approved_hash?: string;
}

export interface WorkloadPinsOptions {
  store: PinStore;
  /** The name of a workload. Undefined if the workload no longer exists. */
  nameOf: (workload: WorkloadId) => string | undefined;
  mode: () => ToolPinningMode;
  /** Called with the changes in one server answer, in parts, because a server can list any number of items. */
  onChanges: (changes: readonly PinChange[]) => void;
  /** Told when all items of a kind are known for the first time. */
  onListed: () => void;
  /** Told how many items wait for approval, whenever that changes. */
  onPending: (count: number) => void;
  /** Writes to the proxy's log, where its user looks first. */
  note: (fields: Record<string, unknown>, message: string) => void;
  now: () => Date;
}

/** How many items are recorded of one server, over all kinds. */
const maxItems = 5_000;
/** The longest name that is recorded. */
const maxName = 1_000;
/** Longer contents are recorded as their hash only. */
const maxContent = 128 * 1024;
/** The same when the contents of one server are longer together. */
const maxContents = 16 * 1024 * 1024;
/** How many versions of an item are approved at the same time: a server may show its clients different ones. */
const maxApproved = 8;
/** The first use of a kind of items ends with the first complete list. A server that never completes one has this long. */
const firstUseMs = 60 * 60 * 1000;
/** How many lists that clients have begun to read are followed. */
const maxTraversals = 32;
/** How many changes of one server are written to the log and to the events in one hour. */
const maxTold = 200;
const toldMs = 60 * 60 * 1000;
/** How many of them in one event. */
const maxInEvent = 20;
/** How much of a difference the log contains. */
const maxLoggedDiff = 4_000;
/** How many differences one answer of the API contains. */
const maxDiffs = 200;
/** How many workloads with a tool of the same name a finding names. */
const maxNamed = 3;
/** How long items are examined before everything else gets its turn. */
const turnMs = 4;

interface Item {
  kind: PinnedKind;
  name: string;
  /** The oldest first. */
  approved: StoredVersion[];
  pending?: StoredVersion | undefined;
  /** Whether the last complete list contained the item. */
  isListed: boolean;
  /** What the approved versions say, once something has asked. */
  annotations?: Annotations | undefined;
}

/** `unrecorded`: the item has no name, or the limit is reached. */
type Verdict = { kind: 'approved' | 'unrecorded' } | { kind: 'pending'; item: Item };

/** What is written after a part of a list was examined. */
interface Recorded {
  saved: (StoredVersion & { content: string | undefined })[];
  forgotten: StoredVersion[];
  changes: PinChange[];
}

/** What was recorded of the server of one workload. */
export class WorkloadPins implements Pins {
  readonly #workload: WorkloadId;
  readonly #options: WorkloadPinsOptions;
  readonly #items = new Map<string, Item>();
  readonly #kinds = new Map<PinnedKind, StoredKind>();
  /** The names in lists that clients have begun to read, by the cursor of the next page. */
  readonly #traversals = new Map<string, Set<string>>();
  readonly #reviews = new SerialQueue();
  #bytes = 0;
  #version = 0;
  /** How many changes were reported since when. */
  #told = { count: 0, sinceMs: 0 };
  #isComplete = true;

  constructor(workload: WorkloadId, options: WorkloadPinsOptions) {
    this.#workload = workload;
    this.#options = options;
    const { kinds, versions } = options.store.read(workload);
    for (const kind of kinds) this.#kinds.set(kind.kind, kind);
    for (const version of versions) {
      const item = this.#itemOf(version);
      if (version.isApproved) item.approved.push(version);
      else item.pending = version;
      this.#bytes += version.bytes;
    }
  }

  get #name(): string {
    return this.#options.nameOf(this.#workload) ?? '';
  }

  get version(): number {
    return this.#version;
  }

  /** How many items wait for approval. */
  get pending(): number {
    return this.#waiting().length;
  }

  /** Whether clients cannot use items that wait for approval. */
  get isEnforced(): boolean {
    return this.#options.mode() === 'block';
  }

  review(listing: Listing): Promise<Review> {
    return this.#reviews.run(() => this.#review(listing));
  }

  refusalOf(kind: PinnedKind, name: string): string | undefined {
    if (!this.isEnforced) return undefined;
    const item = this.#items.get(keyOf(kind, name));
    const what = `the ${kind} ${JSON.stringify(name.slice(0, maxName))}`;
    const fix = `ask the user to review it with thv pin show ${this.#name}`;
    if (item === undefined) {
      // Lists may omit resources. All other items are used after they were listed.
      const isKnown = kind === 'resource' || this.#isFirstUse(kind);
      return isKnown ? undefined : `${what} is not approved by the user; ${fix}`;
    }
    if (item.approved.length === 0) return `${what} is new and not yet approved by the user; ${fix}`;
    if (item.pending === undefined) return undefined;
    const members = this.#changedMembers(item).filter((member) => /^[A-Za-z_]{1,40}$/.test(member));
    const changed = members.length === 0 ? '' : ` (${members.join(', ')})`;
    return `${what} has changed since the user approved it${changed}, and cannot be used; ${fix}`;
  }

  annotationsOf(tool: string): Annotations | undefined {
    const item = this.#items.get(keyOf('tool', tool));
    if (item === undefined || item.approved.length === 0) return undefined;
    const contents = (): (string | undefined)[] =>
      item.approved.map((version) => this.#options.store.contentOf(this.#workload, version));
    return (item.annotations ??= annotationsIn(contents()));
  }

  /** The server's items of each kind with a complete list, including items that wait for approval. */
  get offered(): OfferedItems {
    const namesOf = (kind: PinnedKind): string[] | undefined => {
      if (!this.#isComplete || this.#kinds.get(kind)?.isOver !== true) return undefined;
      const items = [...this.#items.values()].filter((item) => item.kind === kind && item.isListed);
      return items.map(({ name }) => name);
    };
    // A template represents any number of resources, which no list contains.
    const mayHaveTemplates = namesOf('resource-template')?.length !== 0;
    return {
      Tool: namesOf('tool'),
      Prompt: namesOf('prompt'),
      Resource: mayHaveTemplates ? undefined : namesOf('resource'),
    };
  }

  listedResources(): readonly string[] {
    return [...this.#items.values()].flatMap(({ kind, name, isListed }) =>
      isListed && (kind === 'resource' || kind === 'resource-template') ? [name] : [],
    );
  }

  /** Approves waiting versions. Throws `conflict` if one of them no longer waits. */
  approve(decision: PinDecision): number {
    const at = this.#options.now().toISOString();
    return this.#decide(decision, (item, version) => {
      const approved = { ...version, isApproved: true, at };
      item.approved.push(approved);
      item.annotations = undefined;
      const [oldest] = item.approved;
      const dropped = item.approved.length > maxApproved && oldest !== undefined ? [oldest] : [];
      if (dropped.length > 0) item.approved.shift();
      return { saved: [approved], forgotten: dropped };
    });
  }

  /** Forgets versions that wait for approval. Throws like `approve`. */
  dismiss(decision: PinDecision): number {
    return this.#decide(decision, (item, version) => {
      if (item.approved.length === 0) this.#items.delete(keyOf(item.kind, item.name));
      return { saved: [], forgotten: [version] };
    });
  }

  /** All records, with the differences from the approved versions. */
  async describe(): Promise<ToolPins> {
    const items: PinnedItem[] = [];
    let diffs = 0;
    let started = performance.now();
    for (const item of this.#sorted()) {
      const withDiff = item.pending !== undefined && diffs++ < maxDiffs;
      items.push(this.#describe(item, withDiff));
      if (performance.now() - started < turnMs) continue;
      await nextTurn();
      started = performance.now();
    }
    const pending = this.#waiting().length;
    return { mode: this.#options.mode(), pending, complete: this.#isComplete, items };
  }

  /** Returns a function that reports whether the user has approved an item. Returns undefined for unknown items. */
  states(): (kind: PinnedKind, name: string) => ItemPin | undefined {
    return (kind, name) => {
      const item = this.#items.get(keyOf(kind, name));
      if (item === undefined) return undefined;
      const approved = item.approved.at(-1)?.hash;
      const listed = item.pending?.hash ?? approved;
      return {
        state: this.#stateOf(item),
        ...(listed === undefined ? {} : { hash: listed }),
        ...(approved === undefined ? {} : { approved_hash: approved }),
      };
    };
  }

  async #review({ kind, items, cursor, nextCursor, session }: Listing): Promise<Review> {
    const mode = this.#options.mode();
    if (mode === 'off') return { shown: items.map(({ content }) => content), isSettled: false };
    const isFirstUse = this.#beginKind(kind);
    const verdicts: Verdict[] = [];
    let recorded: Recorded = { saved: [], forgotten: [], changes: [] };
    let started = performance.now();
    for (const item of items) {
      verdicts.push(this.#judge(kind, item, isFirstUse, recorded));
      if (performance.now() - started < turnMs) continue;
      this.#record(recorded);
      recorded = { saved: [], forgotten: [], changes: [] };
      await nextTurn();
      started = performance.now();
    }
    const names = items.flatMap(({ name }) => name ?? []);
    const page = { kind, names, cursor, nextCursor, session };
    const { isWhole, removed } = this.#followList(page);
    recorded.changes.push(...removed);
    this.#record(recorded);
    const isApproved = verdicts.every((verdict) => verdict.kind === 'approved');
    return {
      shown: items.map(({ content }, index) =>
        mode === 'warn' ? content : this.#visible(verdicts[index], content),
      ),
      isSettled: isApproved && isWhole && cursor === undefined,
    };
  }

  #judge(
    kind: PinnedKind,
    { name, content: value }: ListedItem,
    isFirstUse: boolean,
    recorded: Recorded,
  ): Verdict {
    if (name === undefined || name.length > maxName) return this.#unrecorded();
    const { content, hash } = versionOf(value);
    const known = this.#items.get(keyOf(kind, name));
    if (known === undefined && this.#items.size >= maxItems) return this.#unrecorded();
    if (known?.approved.some((version) => version.hash === hash) === true) {
      this.#listed(known);
      return { kind: 'approved' };
    }
    const item = known ?? this.#itemOf({ kind, name });
    this.#listed(item);
    if (item.pending?.hash === hash) return { kind: 'pending', item };
    const isKept = content.length <= maxContent && this.#bytes + content.length <= maxContents;
    const version: StoredVersion = {
      kind,
      name,
      hash,
      isApproved: known === undefined && isFirstUse,
      at: this.#options.now().toISOString(),
      findings: this.#findingsIn(kind, name, value),
      bytes: isKept ? content.length : 0,
    };
    this.#bytes += version.bytes;
    this.#version += 1;
    recorded.saved.push({ ...version, content: isKept ? content : undefined });
    const isSuspicious = version.findings.some(({ severity }) => severity !== 'low');
    const suspicion: PinChange[] = isSuspicious ? [{ kind, item: name, change: 'suspicious' }] : [];
    if (version.isApproved) {
      item.approved.push(version);
      item.annotations = undefined;
      recorded.changes.push(...suspicion);
      return { kind: 'approved' };
    }
    if (item.pending !== undefined) {
      recorded.forgotten.push(item.pending);
      this.#bytes -= item.pending.bytes;
    }
    item.pending = version;
    const change = item.approved.length === 0 ? 'new' : 'changed';
    recorded.changes.push({ kind, item: name, change }, ...suspicion);
    return { kind: 'pending', item };
  }

  #unrecorded(): Verdict {
    if (this.#isComplete) {
      this.#options.note({ limit: maxItems }, 'the server lists items that are not pinned');
    }
    this.#isComplete = false;
    return { kind: 'unrecorded' };
  }

  /** What clients see of an item in the mode `block`. */
  #visible(verdict: Verdict | undefined, content: unknown): unknown {
    if (verdict?.kind === 'approved') return content;
    const approved = verdict?.kind === 'pending' ? verdict.item.approved.at(-1) : undefined;
    const text = approved && this.#options.store.contentOf(this.#workload, approved);
    return text === undefined ? undefined : JSON.parse(text);
  }

  #findingsIn(kind: PinnedKind, name: string, content: unknown): StoredVersion['findings'] {
    const findings = findingsIn({ kind, name, content });
    const { store, nameOf } = this.#options;
    const others = kind === 'tool' ? store.workloadsWith(name, this.#workload) : [];
    const names = others.flatMap((other) => nameOf(other) ?? []).slice(0, maxNamed);
    if (names.length === 0) return findings;
    const message = `its name is also that of a tool of ${names.join(', ')}`;
    return [...findings, { rule: 'shadowed-name', severity: 'low', message }];
  }

  /** Returns whether this is the first use of a kind, in which everything is approved. */
  #beginKind(kind: PinnedKind): boolean {
    if (!this.#kinds.has(kind)) {
      this.#saveKind({ kind, beganAt: this.#options.now().toISOString(), isOver: false });
    }
    return this.#isFirstUse(kind);
  }

  #isFirstUse(kind: PinnedKind): boolean {
    const known = this.#kinds.get(kind);
    if (known === undefined) return true;
    return !known.isOver && this.#options.now().getTime() - Date.parse(known.beganAt) < firstUseMs;
  }

  #saveKind(kind: StoredKind): void {
    this.#kinds.set(kind.kind, kind);
    this.#orLogged(() => this.#options.store.saveKind(this.#workload, kind));
  }

  /** Follows a list through its pages. A complete list ends the first use and reveals removed items. */
  #followList({
    kind,
    names,
    cursor,
    nextCursor,
    session = '',
  }: Omit<Listing, 'items'> & { names: readonly string[] }): { isWhole: boolean; removed: PinChange[] } {
    const placeOf = (at: string): string => JSON.stringify([kind, session, at]);
    const before = cursor === undefined ? new Set<string>() : this.#traversals.get(placeOf(cursor));
    if (cursor !== undefined) this.#traversals.delete(placeOf(cursor));
    if (before === undefined) return { isWhole: false, removed: [] };
    const seen = new Set([...before, ...names].slice(0, maxItems));
    if (nextCursor !== undefined) {
      const [oldest] = this.#traversals.keys();
      if (this.#traversals.size >= maxTraversals && oldest !== undefined) this.#traversals.delete(oldest);
      if (nextCursor.length <= maxName) this.#traversals.set(placeOf(nextCursor), seen);
      return { isWhole: false, removed: [] };
    }
    const known = this.#kinds.get(kind);
    if (known !== undefined && !known.isOver) {
      this.#saveKind({ ...known, isOver: true });
      this.#version += 1;
      this.#options.onListed();
    }
    const removed: PinChange[] = [];
    for (const item of this.#items.values()) {
      if (item.kind !== kind || !item.isListed || seen.has(item.name)) continue;
      item.isListed = false;
      this.#version += 1;
      removed.push({ kind, item: item.name, change: 'removed' });
    }
    return { isWhole: true, removed };
  }

  #listed(item: Item): void {
    if (item.isListed) return;
    item.isListed = true;
    this.#version += 1;
  }

  #decide(
    { items: chosen }: PinDecision,
    apply: (item: Item, version: StoredVersion) => { saved: StoredVersion[]; forgotten: StoredVersion[] },
  ): number {
    const waiting = this.#waiting();
    const stale = (chosen ?? []).find(
      ({ kind, name, hash }) => this.#items.get(keyOf(kind, name))?.pending?.hash !== hash,
    );
    if (stale !== undefined) {
      throw conflict(
        `this version of the ${stale.kind} ${JSON.stringify(stale.name)} does not wait for approval`,
        {
          hint: `to see the items that do, run thv pin show ${this.#name}`,
        },
      );
    }
    const keys = chosen && new Set(chosen.map(({ kind, name }) => keyOf(kind, name)));
    const decided = waiting.filter(({ kind, name }) => keys?.has(keyOf(kind, name)) ?? true);
    const recorded: Recorded = { saved: [], forgotten: [], changes: [] };
    for (const item of decided) {
      if (item.pending === undefined) continue;
      const { saved, forgotten } = apply(item, item.pending);
      item.pending = undefined;
      for (const { bytes } of forgotten) this.#bytes -= bytes;
      recorded.saved.push(...saved.map((version) => ({ ...version, content: undefined })));
      recorded.forgotten.push(...forgotten);
    }
    const { store, onPending } = this.#options;
    store.save(this.#workload, recorded.saved);
    store.forget(this.#workload, recorded.forgotten);
    this.#version += 1;
    onPending(this.#waiting().length);
    return decided.length;
  }

  /** Saves the findings and reports them. A read-only disk does not keep clients from the server. */
  #record({ saved, forgotten, changes }: Recorded): void {
    const { store, onPending, onChanges } = this.#options;
    if (saved.length > 0 || forgotten.length > 0) {
      this.#orLogged(() => {
        store.save(this.#workload, saved);
        store.forget(this.#workload, forgotten);
      });
      onPending(this.#waiting().length);
    }
    if (changes.length === 0) return;
    const nowMs = this.#options.now().getTime();
    if (nowMs - this.#told.sinceMs > toldMs) this.#told = { count: 0, sinceMs: nowMs };
    const told = changes.slice(0, Math.max(0, maxTold - this.#told.count));
    for (const change of told) this.#tell(change);
    if (told.length > 0) onChanges(told.slice(0, maxInEvent));
    const isFirstExcess = told.length < changes.length && this.#told.count <= maxTold;
    this.#told.count += changes.length;
    if (!isFirstExcess) return;
    this.#options.note({}, `for one hour, further changes are only shown by: thv pin show ${this.#name}`);
  }

  #tell({ kind, item: name, change }: PinChange): void {
    const item = this.#items.get(keyOf(kind, name));
    const version = item?.pending ?? item?.approved.at(-1);
    const findings = version?.findings.map(({ rule, message }) => `${rule}: ${message}`) ?? [];
    const fields = { kind, item: name, ...(findings.length === 0 ? {} : { findings }) };
    if (change === 'removed')
      return this.#options.note(fields, 'the server does not list this item any more');
    if (change === 'suspicious') {
      // Of a version that waits for approval, the findings were told with the change.
      if (item?.pending === undefined) this.#options.note(fields, 'the text of the server is suspicious');
      return;
    }
    const diff = item && this.#diffOf(item)?.slice(0, maxLoggedDiff);
    const fix = `thv pin show ${this.#name}`;
    const message =
      change === 'new'
        ? 'the server has an item that the user has not approved'
        : 'the server has changed an item since the user approved it';
    this.#options.note({ ...fields, ...(diff === undefined ? {} : { diff }), fix }, message);
  }

  #orLogged(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.note({ why: messageOf(error) }, 'pinned tools could not be saved');
    }
  }

  #describe(item: Item, withDiff: boolean): PinnedItem {
    const { kind, name, approved, pending } = item;
    const last = approved.at(-1);
    const diff = withDiff ? this.#diffOf(item) : undefined;
    return {
      kind,
      name,
      state: this.#stateOf(item),
      ...(last === undefined ? {} : { approved_hash: last.hash, approved_at: last.at }),
      ...(pending === undefined ? {} : { pending_hash: pending.hash, pending_since: pending.at }),
      ...(withDiff && last !== undefined ? { changed_members: this.#changedMembers(item) } : {}),
      ...(diff === undefined ? {} : { diff }),
      findings: (pending ?? last)?.findings ?? [],
    };
  }

  #stateOf({ approved, pending, isListed }: Item): PinnedItem['state'] {
    if (pending !== undefined) return approved.length === 0 ? 'new' : 'changed';
    return isListed ? 'approved' : 'removed';
  }

  #diffOf(item: Item): string | undefined {
    const { before, after, isKept } = this.#contentsOf(item);
    return after === undefined || !isKept ? undefined : unifiedDiff(before, after);
  }

  #changedMembers(item: Item): string[] {
    const { before, after } = this.#contentsOf(item);
    return before === undefined || after === undefined ? [] : changedMembers(before, after);
  }

  /** `isKept`: the content of the approved version was kept, if there is one. */
  #contentsOf({ approved, pending }: Item): {
    before: string | undefined;
    after: string | undefined;
    isKept: boolean;
  } {
    const { store } = this.#options;
    const last = approved.at(-1);
    const before = last && store.contentOf(this.#workload, last);
    const after = pending && store.contentOf(this.#workload, pending);
    return { before, after, isKept: last === undefined || before !== undefined };
  }

  #itemOf({ kind, name }: Pick<Item, 'kind' | 'name'>): Item {
    const key = keyOf(kind, name);
    const item = this.#items.get(key) ?? { kind, name, approved: [], isListed: true };
    this.#items.set(key, item);
    return item;
  }

  #waiting(): Item[] {
    return [...this.#items.values()].filter(({ pending }) => pending !== undefined);
  }

  /** What waits for approval first. */
  #sorted(): Item[] {
    const items = [...this.#items.values()];
    return [...items.filter(({ pending }) => pending), ...items.filter(({ pending }) => !pending)];
  }
}

const keyOf = (kind: PinnedKind, name: string): string => `${kind} ${name}`;
