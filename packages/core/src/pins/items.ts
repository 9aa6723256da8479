import type { PinnedItem } from '@toolhive/contract/tool-pins';
import type { Annotations } from '@toolhive/access/annotations';
import { changedMembers, unifiedDiff } from '@toolhive/access/difference';
import type { PinnedKind, StoredVersion } from './pin-store.ts';

/** An item of a server, as far as it is recorded. */
export interface Item {
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

/** The content of a version. Undefined if it was too long to store. */
export type ContentOf = (version: StoredVersion) => string | undefined;

export function stateOf({ approved, pending, isListed }: Item): PinnedItem['state'] {
  if (pending !== undefined) return approved.length === 0 ? 'new' : 'changed';
  return isListed ? 'approved' : 'removed';
}

/** An item for the API. The difference from the approved version takes time. */
export function describeItem(item: Item, contentOf: ContentOf, withDiff: boolean): PinnedItem {
  const { kind, name, approved, pending } = item;
  const last = approved.at(-1);
  const diff = withDiff ? diffOf(item, contentOf) : undefined;
  return {
    kind,
    name,
    state: stateOf(item),
    ...(last === undefined ? {} : { approved_hash: last.hash, approved_at: last.at }),
    ...(pending === undefined ? {} : { pending_hash: pending.hash, pending_since: pending.at }),
    ...(withDiff && last !== undefined ? { changed_members: changedMembersOf(item, contentOf) } : {}),
    ...(diff === undefined ? {} : { diff }),
    findings: (pending ?? last)?.findings ?? [],
  };
}

/** The difference of the waiting version from the approved one. Undefined if one of them was too long to store. */
export function diffOf(item: Item, contentOf: ContentOf): string | undefined {
  const { before, after } = contentsOf(item, contentOf);
  const isKept = item.approved.length === 0 || before !== undefined;
  return after === undefined || !isKept ? undefined : unifiedDiff(before, after);
}

export function changedMembersOf(item: Item, contentOf: ContentOf): string[] {
  const { before, after } = contentsOf(item, contentOf);
  return before === undefined || after === undefined ? [] : changedMembers(before, after);
}

function contentsOf(
  { approved, pending }: Item,
  contentOf: ContentOf,
): { before: string | undefined; after: string | undefined } {
  const last = approved.at(-1);
  return { before: last && contentOf(last), after: pending && contentOf(pending) };
}
