import { WorkloadName } from '@toolhive/contract/names';
import type { Found, RawEntry } from './client-document.ts';

/**
 * Gives each entry a name for its workload. Names that differ only in characters that a workload name cannot have, and
 * names that are equal, would be one workload. An entry whose name needs no change keeps the name.
 */
export function uniqueNames(found: readonly Found[], existing: readonly string[] = []): RawEntry[] {
  const taken = new Set(existing.map((name) => name.toLowerCase()));
  const names = new Map<Found, string>();
  const isTaken = (name: string): boolean => taken.has(name.toLowerCase());
  for (const each of found) {
    if (each.name === '' || each.name !== asWorkloadName(each.name) || isTaken(each.name)) continue;
    taken.add(each.name.toLowerCase());
    names.set(each, each.name);
  }
  return found.map((each) => {
    const { name, path, entry } = each;
    const known = names.get(each);
    if (known !== undefined) return { name, workload: known, notes: [], entry };
    const wanted = asWorkloadName(name) || 'server';
    let number = 1;
    const numbered = (): string => (number === 1 ? wanted : `${wanted}-${number}`);
    while (isTaken(numbered())) number += 1;
    taken.add(numbered().toLowerCase());
    const isChanged = number > 1 || asWorkloadName(name) === '';
    const notes = isChanged
      ? [
          `${JSON.stringify(name)}${path.length > 0 ? ` in ${path.join('.')}` : ''} becomes the workload ${numbered()}`,
        ]
      : [];
    return { name, workload: numbered(), notes, entry };
  });
}

/** Empty if the name has no character for a workload name. */
export function asWorkloadName(name: string): string {
  const changed = name
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/^[^A-Za-z0-9]+|[-.]+$/g, '')
    .slice(0, 80);
  return WorkloadName.safeParse(changed).success ? changed : '';
}
