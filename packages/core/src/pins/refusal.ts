import { changedMembersOf } from './items.ts';
import type { ContentOf, Item } from './items.ts';

/** Why clients cannot use an item, and the ways out for the user. Names only members that cannot contain instructions. */
export function refusalText(
  what: string,
  item: Item | undefined,
  { contentOf, workload }: { contentOf: ContentOf; workload: string },
): string {
  const fix = `ask the user to review it with thv pin show ${workload}`;
  if (item === undefined) return `${what} is not approved by the user; ${fix}`;
  if (item.approved.length === 0) return `${what} is new and not yet approved by the user; ${fix}`;
  const members = changedMembersOf(item, contentOf).filter((member) => /^[A-Za-z_]{1,40}$/.test(member));
  const changed = members.length === 0 ? '' : ` (${members.join(', ')})`;
  return `${what} has changed since the user approved it${changed}, and cannot be used; ${fix}`;
}

/** Why clients cannot read a file of a skill. */
export function fileRefusalText(uri: string, skill: string, workload: string): string {
  const [file, own] = [uri, skill].map((text) => JSON.stringify(text.slice(0, 1_000)));
  return `the file ${file} is not the one of the skill ${own} that the user approved, and cannot be used; read the skill again, or ask the user to review it with thv pin show ${workload}`;
}
