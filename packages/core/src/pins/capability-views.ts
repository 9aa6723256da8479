import { isRecent } from '@toolhive/contract/clock';
import { maxPinnedItems } from '@toolhive/contract/tool-pins';
import type { PinnedKind } from './pin-store.ts';
import { firstUseMs } from './records.ts';

/**
 * The lists that clients with each set of capabilities have got since the first use of a kind began in this daemon. Some servers
 * offer other tools to clients that they can ask. The server does not choose the sets: they are the capabilities that
 * clients declare, by name.
 */
export class CapabilityViews {
  /** When the first use of each kind began. A further set can begin its first use within the same time. */
  readonly #began = new Map<PinnedKind, number>();
  /** The names that were shown to a set before its first complete list. */
  readonly #shown = new Map<string, Set<string>>();
  /** The names in the latest complete list of a set. */
  readonly #listed = new Map<PinnedKind, Map<string, ReadonlySet<string>>>();

  /** The first use of a kind begins. */
  begin(kind: PinnedKind, nowMs: number): void {
    this.#began.set(kind, nowMs);
  }

  /** Whether a set gets its first list, and sees an item for the first time. */
  isFirst(kind: PinnedKind, set: string, name: string, nowMs: number): boolean {
    const beganMs = this.#began.get(kind);
    if (beganMs === undefined || !isRecent(beganMs, firstUseMs, nowMs)) return false;
    if (this.#listed.get(kind)?.has(set) === true) return false;
    const key = `${kind} ${set}`;
    const shown = this.#shown.get(key) ?? new Set();
    // Further items are not recorded. A server can list any number, and never complete its list.
    if (shown.has(name) || shown.size >= maxPinnedItems) return false;
    this.#shown.set(key, shown.add(name));
    return true;
  }

  /** A set has got a complete list. */
  complete(kind: PinnedKind, set: string, names: ReadonlySet<string>): void {
    this.#shown.delete(`${kind} ${set}`);
    const lists = this.#listed.get(kind) ?? new Map<string, ReadonlySet<string>>();
    this.#listed.set(kind, lists.set(set, names));
  }

  /** Whether the latest list of another set contains an item. */
  isListedElsewhere(kind: PinnedKind, set: string, name: string): boolean {
    const lists = this.#listed.get(kind) ?? new Map<string, ReadonlySet<string>>();
    return lists.entries().some(([other, names]) => other !== set && names.has(name));
  }
}
