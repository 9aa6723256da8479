import { setImmediate as nextTurn } from 'node:timers/promises';
import type { OfferedItems } from '@toolhive/access/policies';
import type { PinnedItem } from '@toolhive/contract/tool-pins';
import { describeItem, stateOf } from './items.ts';
import type { Item } from './items.ts';
import type { PinnedKind } from './pin-store.ts';
import type { PinRecords } from './records.ts';

/** How many differences one answer of the API contains. */
const maxDiffs = 200;
/** How long items are described before everything else gets its turn. */
const turnMs = 4;

/** Whether the user has approved an item, for the list of a server's items. */
export interface ItemPin {
  state: PinnedItem['state'];
  /** The version that the server lists. */
  hash?: string;
  approved_hash?: string;
}

export function pinOf(item: Item | undefined): ItemPin | undefined {
  if (item === undefined) return undefined;
  const approved = item.approved.at(-1)?.hash;
  const listed = item.pending?.hash ?? approved;
  return {
    state: stateOf(item),
    ...(listed === undefined ? {} : { hash: listed }),
    ...(approved === undefined ? {} : { approved_hash: approved }),
  };
}

/** The server's items of each kind with a complete list, including items that wait for approval. */
export function offeredItems(records: PinRecords): OfferedItems {
  const namesOf = (kind: PinnedKind): string[] | undefined => {
    if (!records.isListed(kind)) return undefined;
    const items = [...records.all()].filter((item) => item.kind === kind && item.isListed);
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

/** All records, with the differences from the approved versions. */
export async function describeItems(records: PinRecords): Promise<PinnedItem[]> {
  const items: PinnedItem[] = [];
  let diffs = 0;
  let started = performance.now();
  for (const item of records.sorted()) {
    const withDiff = item.pending !== undefined && diffs++ < maxDiffs;
    items.push(describeItem(item, records.contentOf, withDiff));
    if (performance.now() - started < turnMs) continue;
    await nextTurn();
    started = performance.now();
  }
  return items;
}
