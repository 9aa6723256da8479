import { setImmediate as nextTurn } from 'node:timers/promises';
import { conflict } from '@toolhive/contract/failure';
import { advice, fixes } from '@toolhive/contract/fixes';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { maxApprovedVersions, maxPinnedItems } from '@toolhive/contract/tool-pins';
import type { PinDecision, ToolPinningMode, ToolPins } from '@toolhive/contract/tool-pins';
import type { ListedItem, Listing, Pins, Review } from '@toolhive/proxy/tool-pinning';
import type { OfferedItems } from '@toolhive/access/policies';
import { annotationsIn } from '@toolhive/access/annotations';
import type { Annotations } from '@toolhive/access/annotations';
import { ChangeReports } from './change-reports.ts';
import type { PinChange } from './change-reports.ts';
import { versionOf } from '@toolhive/access/difference';
import { findingsIn } from '@toolhive/access/findings';
import { isSameThing, readableContent } from './readable-version.ts';
import { fileRefusalText, refusalText } from './refusal.ts';
import { SkillFileCheck } from './skill-file-check.ts';
import type { Item } from './items.ts';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { PinnedKind, StoredVersion } from './pin-store.ts';
import { CapabilityViews } from './capability-views.ts';
import { PinRecords } from './records.ts';
import type { Changed, PinRecordsOptions } from './records.ts';
import { describeItems, offeredItems, pinOf } from './views.ts';
import type { ItemPin } from './views.ts';
import { Traversals } from './traversals.ts';

export interface WorkloadPinsOptions extends PinRecordsOptions {
  /** The name of a workload. Undefined if the workload no longer exists. */
  nameOf: (workload: WorkloadId) => string | undefined;
  mode: () => ToolPinningMode;
  /** Called with the changes in one server answer, in parts, because a server can list any number of items. */
  onChanges: (changes: readonly PinChange[]) => void;
  /** Told when all items of a kind are known for the first time. */
  onListed: () => void;
}

/** How many items are recorded of one server, over all kinds. */
const maxItems = maxPinnedItems;
/** The longest name that is recorded. */
const maxName = 1_000;
/** How many versions of an item are approved at the same time: a server may show its clients different ones. */
const maxApproved = maxApprovedVersions;
/** How many workloads with a tool of the same name a finding names. */
const maxNamed = 3;
/** How long items are examined before everything else gets its turn. */
const turnMs = 4;

/** `unrecorded`: the item has no name, or the limit is reached. */
type Verdict = { kind: 'approved' | 'unrecorded' } | { kind: 'pending'; item: Item };

/** What is written after a part of a list was examined. */
interface Recorded extends Changed {
  changes: PinChange[];
}

/** What was recorded of the server of one workload. */
export class WorkloadPins implements Pins {
  readonly #workload: WorkloadId;
  readonly #options: WorkloadPinsOptions;
  readonly #records: PinRecords;
  readonly #traversals = new Traversals(maxItems);
  readonly #reports: ChangeReports;
  readonly #reviews = new SerialQueue();
  readonly #views = new CapabilityViews();
  readonly #files: SkillFileCheck;
  #isComplete = true;

  constructor(workload: WorkloadId, options: WorkloadPinsOptions) {
    this.#workload = workload;
    this.#options = options;
    this.#records = new PinRecords(workload, options);
    this.#files = new SkillFileCheck(this.#records);
    this.#reports = new ChangeReports({
      ...options,
      itemOf: (kind, name) => this.#records.find(kind, name),
      contentOf: this.#records.contentOf,
      fix: () => `thv pin show ${this.#name}`,
    });
  }

  get #name(): string {
    return this.#options.nameOf(this.#workload) ?? '';
  }

  get version(): number {
    return this.#records.version;
  }

  /** How many items wait for approval. */
  get pending(): number {
    return this.#records.waiting().length;
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
    const item = this.#records.find(kind, name);
    if (item === undefined) {
      // Lists may omit resources. All other items are used after they were listed.
      const isKnown = kind === 'resource' || this.#records.isFirstUse(kind);
      if (isKnown) return undefined;
    } else if (item.approved.length > 0 && item.pending === undefined) return undefined;
    const what = `the ${kind} ${JSON.stringify(name.slice(0, maxName))}`;
    return refusalText(what, item, { contentOf: this.#records.contentOf, workload: this.#name });
  }

  refusalOfFile(uri: string, digestsOf: () => readonly string[]): string | undefined {
    if (this.#options.mode() === 'off') return undefined;
    const skill = this.#files.differs(uri, digestsOf, !this.isEnforced);
    if (skill === undefined) return undefined;
    if (this.#files.isNew(uri)) this.#reports.report([{ kind: 'skill', item: uri, change: 'changed' }]);
    return this.isEnforced ? fileRefusalText(uri, skill, this.#name) : undefined;
  }

  annotationsOf(tool: string): Annotations | undefined {
    const item = this.#records.find('tool', tool);
    if (item === undefined || item.approved.length === 0) return undefined;
    return (item.annotations ??= annotationsIn(item.approved.map(this.#records.contentOf)));
  }

  /** The server's items of each kind with a complete list, including items that wait for approval. */
  get offered(): OfferedItems {
    return this.#isComplete ? offeredItems(this.#records) : {};
  }

  listedResources(): readonly string[] {
    return [...this.#records.all()].flatMap(({ kind, name, isListed }) =>
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
      if (item.approved.length === 0) this.#records.delete(item);
      return { saved: [], forgotten: [version] };
    });
  }

  /** All records, with the differences from the approved versions. */
  async describe(): Promise<ToolPins> {
    const items = await describeItems(this.#records);
    const pending = this.#records.waiting().length;
    return { mode: this.#options.mode(), pending, complete: this.#isComplete, items };
  }

  /** Returns a function that reports whether the user has approved an item. Returns undefined for unknown items. */
  states(): (kind: PinnedKind, name: string) => ItemPin | undefined {
    return (kind, name) => pinOf(this.#records.find(kind, name));
  }

  async #review({
    kind,
    items,
    cursor,
    nextCursor,
    capabilities,
    session,
    isPart,
  }: Listing): Promise<Review> {
    const mode = this.#options.mode();
    if (mode === 'off') return { shown: items.map(({ content }) => content), isSettled: false };
    const nowMs = this.#options.now().getTime();
    if (!this.#records.isKnown(kind)) this.#views.begin(kind, nowMs);
    const isFirstUse = this.#records.beginKind(kind);
    const verdicts: Verdict[] = [];
    let recorded: Recorded = { saved: [], forgotten: [], changes: [] };
    let started = performance.now();
    // A list may contain an item several times. In the first use, the user accepts all of them.
    const earlier = new Set(this.#traversals.before({ kind, cursor, session }));
    for (const item of items) {
      const isRepeated = item.name !== undefined && earlier.has(item.name);
      const isFirst = isNamed(item.name) && this.#views.isFirst(kind, capabilities, item.name, nowMs);
      verdicts.push(
        this.#judge(kind, item, { isFirstUse, isAccepted: isRepeated ? isFirstUse : isFirst }, recorded),
      );
      if (item.name !== undefined) earlier.add(item.name);
      if (performance.now() - started < turnMs) continue;
      this.#record(recorded);
      recorded = { saved: [], forgotten: [], changes: [] };
      await nextTurn();
      started = performance.now();
    }
    const names = items.map(({ name }) => name).filter(isNamed);
    const page = { kind, names, cursor, nextCursor, capabilities, session };
    const { isWhole, removed } = isPart === true ? { isWhole: false, removed: [] } : this.#followList(page);
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
    { isFirstUse, isAccepted }: { isFirstUse: boolean; isAccepted: boolean },
    recorded: Recorded,
  ): Verdict {
    if (!isNamed(name)) return this.#unrecorded();
    const { content, hash } = versionOf(value);
    const known = this.#records.find(kind, name);
    if (known === undefined && this.#records.size >= maxItems) return this.#unrecorded();
    const { contentOf } = this.#records;
    const isKnown = known?.approved.some(
      (version) => version.hash === hash || isSameThing(kind, contentOf(version), hash),
    );
    if (known !== undefined && isKnown === true) {
      this.#records.setListed(known, true);
      return { kind: 'approved' };
    }
    const item = known ?? this.#records.add(kind, name);
    this.#records.setListed(item, true);
    if (item.pending?.hash === hash) return { kind: 'pending', item };
    const bytes = this.#records.room(content);
    const version: StoredVersion = {
      kind,
      name,
      hash,
      isApproved:
        (known === undefined && isFirstUse) || (isAccepted && (known?.approved.length ?? 0) < maxApproved),
      at: this.#options.now().toISOString(),
      findings: this.#findingsIn(kind, name, value),
      bytes,
    };
    this.#records.count(version);
    recorded.saved.push({ ...version, content: bytes === content.length ? content : undefined });
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
      this.#records.drop(item.pending);
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
    const text = approved && this.#records.contentOf(approved);
    return approved === undefined || text === undefined ? undefined : readableContent(approved.kind, text);
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

  /** Follows a list through its pages. A complete list ends the first use and reveals removed items. */
  #followList(page: Omit<Listing, 'items'> & { names: readonly string[] }): {
    isWhole: boolean;
    removed: PinChange[];
  } {
    const seen = this.#traversals.follow(page);
    if (seen === undefined) return { isWhole: false, removed: [] };
    const { kind, capabilities } = page;
    this.#views.complete(kind, capabilities, seen);
    if (this.#records.endFirstUse(kind)) this.#options.onListed();
    const removed: PinChange[] = [];
    for (const item of this.#records.all()) {
      if (item.kind !== kind || !item.isListed || seen.has(item.name)) continue;
      if (this.#views.isListedElsewhere(kind, capabilities, item.name)) continue;
      this.#records.setListed(item, false);
      removed.push({ kind, item: item.name, change: 'removed' });
    }
    return { isWhole: true, removed };
  }

  #decide(
    { items: chosen }: PinDecision,
    apply: (item: Item, version: StoredVersion) => { saved: StoredVersion[]; forgotten: StoredVersion[] },
  ): number {
    const waiting = this.#records.waiting();
    const stale = (chosen ?? []).find(
      ({ kind, name, hash }) => this.#records.find(kind, name)?.pending?.hash !== hash,
    );
    if (stale !== undefined) {
      throw conflict(
        `this version of the ${stale.kind} ${JSON.stringify(stale.name)} does not wait for approval`,
        advice(`to see the items that do, run thv pin show ${this.#name}`, fixes.reviewTools(this.#name)),
      );
    }
    const keys = chosen && new Set(chosen.map(({ kind, name }) => keyOf(kind, name)));
    const decided = waiting.filter(({ kind, name }) => keys?.has(keyOf(kind, name)) ?? true);
    const recorded: Recorded = { saved: [], forgotten: [], changes: [] };
    for (const item of decided) {
      if (item.pending === undefined) continue;
      const { saved, forgotten } = apply(item, item.pending);
      item.pending = undefined;
      for (const version of forgotten) this.#records.drop(version);
      recorded.saved.push(...saved.map((version) => ({ ...version, content: undefined })));
      recorded.forgotten.push(...forgotten);
    }
    this.#records.write(recorded);
    return decided.length;
  }

  #record(recorded: Recorded): void {
    this.#records.tryWrite(recorded);
    this.#reports.report(recorded.changes);
  }
}

/** Whether an item has a name that is recorded. Others are not remembered in any way, because a server can list any number. */
const isNamed = (name: string | undefined): name is string => name !== undefined && name.length <= maxName;

const keyOf = (kind: PinnedKind, name: string): string => `${kind} ${name}`;
