import { isDeepStrictEqual } from 'node:util';
import { clientApplications, formatOf } from '@toolhive/contract/client-application';
import type { UndoneAdoption } from '@toolhive/contract/adoption';
import { ThvError, conflict } from '@toolhive/contract/failure';
import { entryTarget, leadToSame } from '@toolhive/clients/entry';
import type { Entry, EntryValue } from '@toolhive/clients/entry';
import { changePlace, editPlace, readPlaceText, textEntries } from '@toolhive/clients/places';
import type { Place } from '@toolhive/clients/places';
import { adoptedValue, givenBackValue } from './entries.ts';
import { digestOf } from './record.ts';
import type { AdoptionRecord, Backup, Change } from './record.ts';
import type { FoundEntry } from './scan.ts';

type Vault = Parameters<AdoptionRecord['backup']>[1];

/** Lets an entry lead to a workload. Throws `conflict` if the entry is not the one that was found. */
export async function adoptEntry(
  { place, name, value }: FoundEntry,
  next: EntryValue,
  { record, vault, workload, at }: { record: AdoptionRecord; vault: Vault; workload: string; at: string },
): Promise<void> {
  const { application, scope, path, directory } = place;
  let id: string | undefined;
  await editPlace(place, async (text, file) => {
    if (!isDeepStrictEqual(textEntries(place, text).get(name), value))
      throw conflict(`the entry ${name} in ${path} has changed in the meantime`, { hint: 'try again' });
    const after = changePlace(place, text, new Map([[name, next]]));
    if (id !== undefined) await record.forget([id]); // another program wrote the file, so this is another attempt
    id = await record.announce(
      {
        at,
        client: application.id,
        scope,
        path,
        file,
        pointer: [...application.pointer],
        ...(directory === undefined ? {} : { directory }),
        before: digestOf(text),
        after: digestOf(after),
        name,
        workload,
        target: entryTarget(application, next) ?? '',
      },
      { text, value },
      vault,
    );
    return after;
  });
  if (id !== undefined) await record.complete(id);
}

/** Lets an adopted entry lead to its workload again, whose port has moved. Leaves an entry alone that leads elsewhere. */
export async function followEntry(change: Change, workload: Entry, record: AdoptionRecord): Promise<void> {
  const place = placeOf(change);
  const { application } = place;
  const digests = { before: '', after: '' };
  await editPlace(place, (text) => {
    const name = entryOf(place, text, change);
    const present = name === undefined ? undefined : textEntries(place, text).get(name);
    if (name === undefined || typeof present !== 'object' || present === null)
      return Promise.resolve(undefined);
    const next = adoptedValue(application, present as FoundEntry['value'], workload, name); // an object
    const after = changePlace(place, text, new Map([[name, next]]));
    Object.assign(digests, { before: digestOf(text), after: digestOf(after) });
    return Promise.resolve(after);
  });
  await record.retarget(change.id, workload.url, digests);
}

/** Finds out what an interrupted adoption has done. */
export async function settle(record: AdoptionRecord): Promise<void> {
  for (const change of await record.changes()) {
    if (change.isDone) continue;
    const place = placeOf(change);
    const text = await readPlaceText(place);
    const isWritten = digestOf(text) === change.after || seemsWritten(place, text, change);
    await (isWritten ? record.complete(change.id) : record.forget([change.id]));
  }
  await record.sweep();
}

interface Restoring {
  record: AdoptionRecord;
  vault: Vault;
  isWhole: boolean;
  /** Returns the current URL of the workload of a change, whose port can have moved. Undefined without the workload. */
  addressOf?: (change: Change) => string | undefined;
  /** Returns the client's other places for servers: a newer version can have moved an entry. */
  placesOf?: (client: Change['client']) => Promise<Place[]>;
}

type Restored = UndoneAdoption['files'][number];

/**
 * Restores one file: as a whole if nothing else has changed it since, or else the entries that still lead to their
 * workloads, also under other names and in the client's other files. A problem leaves the file as it is.
 */
export async function restoreFile(
  path: string,
  changes: readonly Change[],
  options: Restoring,
): Promise<Restored[]> {
  const { record, isWhole } = options;
  const [first] = changes;
  if (first === undefined) return [{ path, restored: 'nothing' }];
  try {
    const { restored, missing } = await restorePlace(first, changes, options);
    const moved: Restored[] = [];
    for (const change of missing) moved.push(...(await restoreMoved(change, options)));
    await record.forget(changes.map(({ id }) => id));
    return [{ path, restored }, ...moved];
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    const hint = isWhole ? thrown.hint : 'to restore the whole file as it was, add --whole-files';
    return [{ path, restored: 'nothing', problem: thrown.message, ...(hint === undefined ? {} : { hint }) }];
  }
}

/** Also returns the changes whose entries are not in the file anymore. */
async function restorePlace(
  first: Change,
  changes: readonly Change[],
  { record, vault, isWhole, addressOf }: Restoring,
): Promise<{ restored: Restored['restored']; missing: Change[] }> {
  let restored: Restored['restored'] = 'nothing';
  let missing: Change[] = [];
  await editPlace(placeOf(first), async (present, file) => {
    if (isWhole) requireSameFile(changes, file);
    missing = [];
    let text = present;
    for (const change of changes.toReversed()) {
      const backup = await record.backup(change.id, vault);
      if (isWhole || digestOf(text) === change.after) text = backup.text;
      else if (digestOf(text) !== change.before) {
        const after = withEntry(placeOf(change), text, { change, backup, addressOf });
        if (after === undefined) missing.push(change);
        else text = after;
      }
    }
    if (digestOf(text) === first.before) restored = 'file';
    else restored = text === present ? 'nothing' : 'entries';
    return text === present ? undefined : text;
  });
  return { restored, missing };
}

/**
 * A whole text does not depend on what the file contains now. If the path had become a link, such as in a project of others,
 * the text would replace any file of the user.
 */
function requireSameFile(changes: readonly Change[], file: string): void {
  const other = changes.find((change) => (change.file ?? change.path) !== file);
  if (other === undefined) return;
  throw conflict(`${other.path} is another file since the adoption, because it is now a link or below one`, {
    hint: 'to restore only the entries, remove --whole-files',
  });
}

/** Restores an entry that its client has moved to another file. */
async function restoreMoved(
  change: Change,
  { record, vault, addressOf, placesOf }: Restoring,
): Promise<Restored[]> {
  const backup = await record.backup(change.id, vault);
  for (const place of (await placesOf?.(change.client)) ?? []) {
    let isThere = false;
    try {
      await editPlace(place, (text) => {
        const after = withEntry(place, text, { change, backup, addressOf });
        isThere = after !== undefined;
        return Promise.resolve(after);
      });
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown; // a file that cannot be edited says nothing about the others
    }
    if (isThere) return [{ path: place.path, restored: 'entries' }];
  }
  return [];
}

/** The text with the earlier entry. Undefined if no entry leads to the workload. Throws `conflict` if the text cannot be read. */
function withEntry(
  place: Place,
  text: string,
  {
    change,
    backup,
    addressOf,
  }: { change: Change; backup: Backup; addressOf: Restoring['addressOf'] | undefined },
): string | undefined {
  const { application } = place;
  const name = entryOf(place, text, change, addressOf?.(change));
  const present = name === undefined ? undefined : textEntries(place, text).get(name);
  if (name === undefined || typeof present !== 'object' || present === null) return undefined;
  const value = givenBackValue(application, backup.value, {
    value: present as Readonly<Record<string, unknown>>,
    isRenamed: name !== change.name,
  });
  return changePlace(place, text, new Map([[name, value]]));
}

/** Returns the name of the entry that leads to the workload: the recorded name, or one that the user has chosen since. */
function entryOf(
  place: Place,
  text: string,
  { name, target, workload }: Change,
  address?: string,
): string | undefined {
  const entries = textEntries(place, text);
  const leads = (value: unknown): boolean => {
    const present = entryTarget(place.application, value);
    const isSame = (other: string): boolean => present !== undefined && leadToSame(present, other);
    return isSame(target) || (address !== undefined && isSame(address));
  };
  if (entries.has(name)) return leads(entries.get(name)) ? name : undefined;
  // A registered client has its own entry, with the workload's name.
  const others = [...entries].filter(([other, value]) => other !== workload && leads(value));
  return others.length === 1 ? others[0]?.[0] : undefined;
}

/** An unreadable file may be a changed one, whose backup must stay. */
function seemsWritten(place: Place, text: string, change: Change): boolean {
  try {
    return entryOf(place, text, change) === change.name;
  } catch (thrown) {
    if (thrown instanceof ThvError) return digestOf(text) !== change.before;
    throw thrown;
  }
}

function placeOf({ client, scope, path, pointer, directory }: Change): Place {
  const application = clientApplications.find(({ id }) => id === client);
  if (application === undefined) throw new Error(`no row for ${client}`); // the record has names of the table
  const isShared = scope === 'project' && directory !== undefined && path.startsWith(directory);
  const format = formatOf(path) ?? application.format;
  return { application: { ...application, pointer, format }, scope, path, directory, isShared };
}
