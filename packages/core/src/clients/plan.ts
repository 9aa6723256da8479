import type { ClientApplication } from '@toolhive/contract/client-application';
import { entryUrl, entryValue, isUpToDate, leadToSame, loopbackPort } from './entry.ts';
import type { Entry, EntryValue } from './entry.ts';
import type { OwnEntries } from './record.ts';

/** What to do to one application's file. */
export interface Plan {
  changes: ReadonlyMap<string, EntryValue | undefined>;
  /** What is ours from the moment before the file is written. */
  before: OwnEntries;
  /** What is ours once it is written. */
  after: OwnEntries;
  /** The names that are wanted, but taken by entries of somebody else. */
  taken: readonly string[];
}

/** Compares what a file has with what it should have. Entries of other people are not for us to change. */
export function planChanges(
  application: ClientApplication,
  wanted: readonly Entry[],
  present: ReadonlyMap<string, unknown>,
  own: OwnEntries,
): Plan {
  const changes = new Map<string, EntryValue | undefined>();
  const before = new Map<string, readonly string[]>();
  const after = new Map<string, readonly string[]>();
  const taken: string[] = [];

  for (const entry of wanted) {
    const { name, url } = entry;
    const value = entryValue(application, entry);
    const known = own.get(name) ?? [];
    const there = present.get(name);
    const thereUrl = entryUrl(application, there);
    if (present.has(name) && !isOurs(thereUrl, url, known)) {
      taken.push(name);
      continue;
    }
    if (!isUpToDate(application, there, value)) changes.set(name, value);
    before.set(name, [...new Set([...known, ...(thereUrl === undefined ? [] : [thereUrl]), url])]);
    after.set(name, [url]);
  }

  const names = new Set(wanted.map(({ name }) => name));
  for (const [name, urls] of own) {
    const thereUrl = entryUrl(application, present.get(name));
    if (names.has(name) || thereUrl === undefined) continue;
    if (!urls.some((url) => leadToSame(url, thereUrl))) continue; // somebody made it lead elsewhere: theirs now
    changes.set(name, undefined);
    before.set(name, urls);
  }
  return { changes, before, after, taken };
}

/** Whether an entry under a wanted name is ours: it leads to us, or it is ours and still leads to this machine. */
function isOurs(thereUrl: string | undefined, url: string, known: readonly string[]): boolean {
  if (thereUrl === undefined) return false;
  if ([url, ...known].some((one) => leadToSame(one, thereUrl))) return true;
  return known.length > 0 && loopbackPort(thereUrl) !== undefined;
}
