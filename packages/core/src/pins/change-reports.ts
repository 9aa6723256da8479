import { isRecent } from '@toolhive/contract/clock';
import { diffOf } from './items.ts';
import type { ContentOf, Item } from './items.ts';
import type { PinnedKind } from './pin-store.ts';

/** A change since the user's approval, or a suspicious feature. */
export interface PinChange {
  kind: PinnedKind;
  item: string;
  change: 'changed' | 'new' | 'removed' | 'suspicious';
}

export interface ChangeReportsOptions {
  itemOf: (kind: PinnedKind, name: string) => Item | undefined;
  contentOf: ContentOf;
  /** The command that shows all changes. */
  fix: () => string;
  /** Called with the changes in one server answer, in parts, because a server can list any number of items. */
  onChanges: (changes: readonly PinChange[]) => void;
  /** Writes to the proxy's log, where its user looks first. */
  note: (fields: Record<string, unknown>, message: string) => void;
  now: () => Date;
}

/** How many changes of one server are written to the log and to the events in one hour. */
const maxTold = 200;
const toldMs = 60 * 60 * 1000;
/** How many of them in one event. */
const maxInEvent = 20;
/** How much of a difference the log contains. */
const maxLoggedDiff = 4_000;

/** Tells the user of changes, up to a limit, because a server can change its items any number of times. */
export class ChangeReports {
  readonly #options: ChangeReportsOptions;
  /** How many changes were reported since when. */
  #told = { count: 0, sinceMs: 0 };

  constructor(options: ChangeReportsOptions) {
    this.#options = options;
  }

  report(changes: readonly PinChange[]): void {
    if (changes.length === 0) return;
    const { onChanges, note, fix, now } = this.#options;
    const nowMs = now().getTime();
    if (!isRecent(this.#told.sinceMs, toldMs, nowMs)) this.#told = { count: 0, sinceMs: nowMs };
    const told = changes.slice(0, Math.max(0, maxTold - this.#told.count));
    for (const change of told) this.#tell(change);
    if (told.length > 0) onChanges(told.slice(0, maxInEvent));
    const isFirstExcess = told.length < changes.length && this.#told.count <= maxTold;
    this.#told.count += changes.length;
    if (isFirstExcess) note({}, `for one hour, further changes are only shown by: ${fix()}`);
  }

  #tell({ kind, item: name, change }: PinChange): void {
    const { itemOf, contentOf, note, fix } = this.#options;
    const item = itemOf(kind, name);
    const version = item?.pending ?? item?.approved.at(-1);
    const findings = version?.findings.map(({ rule, message }) => `${rule}: ${message}`) ?? [];
    const fields = { kind, item: name, ...(findings.length === 0 ? {} : { findings }) };
    if (change === 'removed') return note(fields, 'the server does not list this item any more');
    if (change === 'suspicious') {
      // Of a version that waits for approval, the findings were told with the change.
      if (item?.pending === undefined) note(fields, 'the text of the server is suspicious');
      return;
    }
    const diff = item && diffOf(item, contentOf)?.slice(0, maxLoggedDiff);
    const message =
      change === 'new'
        ? 'the server has an item that the user has not approved'
        : 'the server has changed an item since the user approved it';
    note({ ...fields, ...(diff === undefined ? {} : { diff }), fix: fix() }, message);
  }
}
