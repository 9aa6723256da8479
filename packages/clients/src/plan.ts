import type { ClientApplication } from '@toolhive/contract/client-application';
import { entryTarget, entryValue, isUpToDate, leadToSame, loopbackPort } from './entry.ts';
import type { Entry, EntryValue, Program } from './entry.ts';
import type { OwnEntries } from './record.ts';

/** What to do to one application's file. */
export interface Plan {
  changes: ReadonlyMap<string, EntryValue | undefined>;
  /** What is ours from the moment before the file is written. */
  before: OwnEntries;
  /** ToolHive's entries after the write. */
  after: OwnEntries;
  /** The requested names that other entries already use. */
  taken: readonly string[];
}

/** Compares a file's entries with the desired entries. Other programs' entries are never changed. */
export function planChanges(
  application: ClientApplication,
  wanted: readonly Entry[],
  present: ReadonlyMap<string, unknown>,
  own: OwnEntries,
  program: Program,
): Plan {
  const changes = new Map<string, EntryValue | undefined>();
  const before = new Map<string, readonly string[]>();
  const after = new Map<string, readonly string[]>();
  const taken: string[] = [];

  const missing = wanted.filter((entry) => !isThereAlready(application, entry, present, own));
  for (const entry of missing) {
    const { name } = entry;
    const value = entryValue(application, entry, program);
    const url = entryTarget(application, value) ?? entry.url;
    const known = own.get(name) ?? [];
    const there = present.get(name);
    const thereUrl = entryTarget(application, there);
    if (present.has(name) && !isOurs(thereUrl, url, known)) {
      taken.push(name);
      continue;
    }
    if (!isUpToDate(application, there, value)) changes.set(name, value);
    before.set(name, [...new Set([...known, ...(thereUrl === undefined ? [] : [thereUrl]), url])]);
    after.set(name, [url]);
  }

  const names = new Set(missing.map(({ name }) => name));
  for (const [name, urls] of own) {
    const thereUrl = entryTarget(application, present.get(name));
    if (names.has(name) || thereUrl === undefined) continue;
    if (!urls.some((url) => leadToSame(url, thereUrl))) continue; // another program changed the entry's target and now owns the entry
    changes.set(name, undefined);
    before.set(name, urls);
  }
  return { changes, before, after, taken };
}

/** Whether an entry with another name leads to the workload, which ToolHive did not write, or which it adopted. */
function isThereAlready(
  application: ClientApplication,
  { name: wanted, url }: Entry,
  present: ReadonlyMap<string, unknown>,
  own: OwnEntries,
): boolean {
  return present.entries().some(([name, value]) => {
    const target = entryTarget(application, value);
    const isOther = name !== wanted && !own.has(name);
    return (
      isOther &&
      (target === ['thv proxy stdio', wanted].join(' ') || (target !== undefined && leadToSame(target, url)))
    );
  });
}

/**
 * Whether the entry with a requested name belongs to ToolHive: it leads to the workload, or ToolHive created it and
 * it still leads to this machine.
 */
function isOurs(thereUrl: string | undefined, url: string, known: readonly string[]): boolean {
  if (thereUrl === undefined) return false;
  if ([url, ...known].some((one) => leadToSame(one, thereUrl))) return true;
  return known.length > 0 && loopbackPort(thereUrl) !== undefined;
}
