import { ApprovedItem, maxPinnedItems } from '@toolhive/contract/tool-pins';
import * as z from 'zod';

/** An item version that a proxy has received, in the shared ConfigMap. */
export const ListedItem = z.object({
  kind: ApprovedItem.shape.kind,
  name: ApprovedItem.shape.name,
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** Whether the server has listed the version with the current settings. Others are kept for comparisons. */
  isListed: z.boolean(),
  /** The canonical JSON. Absent for long texts. */
  content: z.string().optional(),
});
export type ListedItem = z.infer<typeof ListedItem>;

export const ListedTools = z.object({
  items: z.array(ListedItem).max(4 * maxPinnedItems),
  /** False if the server has listed more than is recorded. */
  isComplete: z.boolean(),
});
export type ListedTools = z.infer<typeof ListedTools>;

/** Parses a report. Undefined for a text that no proxy writes. */
export function parseListed(text: string | undefined): ListedTools | undefined {
  if (text === undefined) return undefined;
  try {
    return ListedTools.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Identifies an item among those of a server. */
export const itemKey = ({ kind, name }: { kind: string; name: string }): string => `${kind} ${name}`;

/** How the listed items differ from the pins. */
export interface PinDifference {
  kind: ListedItem['kind'];
  name: string;
  state: 'changed' | 'new';
}

/** Returns the listed items without a pin, and those with another version than the pinned ones. */
export function differencesOf(items: readonly ListedItem[], pins: readonly ApprovedItem[]): PinDifference[] {
  const pinned = hashesOf(pins);
  const found = new Map<string, PinDifference>();
  for (const { kind, name, hash, isListed } of items) {
    const hashes = pinned.get(itemKey({ kind, name }));
    if (isListed && hashes?.has(hash) !== true)
      found.set(itemKey({ kind, name }), { kind, name, state: hashes === undefined ? 'new' : 'changed' });
  }
  return [...found.values()];
}

/** The pinned hashes of each item. */
export function hashesOf(pins: readonly ApprovedItem[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { kind, name, hashes } of pins) {
    const key = itemKey({ kind, name });
    found.set(key, new Set([...(found.get(key) ?? []), ...hashes]));
  }
  return found;
}
