import { isDeepStrictEqual } from 'node:util';
import { clientApplications, formatOf } from '@toolhive/contract/client-application';
import type { UndoneAdoption } from '@toolhive/contract/adoption';
import { ThvError, conflict } from '@toolhive/contract/failure';
import { entryTarget, leadToSame } from '@toolhive/clients/entry';
import type { EntryValue } from '@toolhive/clients/entry';
import { changePlace, editPlace, readPlaceText, textEntries } from '@toolhive/clients/places';
import type { Place } from '@toolhive/clients/places';
import { digestOf } from './record.ts';
import type { AdoptionRecord, Change } from './record.ts';
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
  await editPlace(place, async (text) => {
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

/**
 * Restores one file: as a whole if nothing else has changed it since, or else the entries that still lead to their
 * workloads. A problem leaves the file as it is.
 */
export async function restoreFile(
  path: string,
  changes: readonly Change[],
  { record, vault, isWhole }: { record: AdoptionRecord; vault: Vault; isWhole: boolean },
): Promise<UndoneAdoption['files'][number]> {
  const [first] = changes;
  if (first === undefined) return { path, restored: 'nothing' };
  let restored: UndoneAdoption['files'][number]['restored'] = 'nothing';
  try {
    await editPlace(placeOf(first), async (present) => {
      let text = present;
      for (const change of changes.toReversed()) {
        const backup = await record.backup(change.id, vault);
        if (isWhole || digestOf(text) === change.after) text = backup.text;
        else if (digestOf(text) !== change.before) {
          const place = placeOf(change);
          if (leadsToWorkload(place, text, change))
            text = changePlace(place, text, new Map([[change.name, backup.value as EntryValue]]));
        }
      }
      if (digestOf(text) === first.before) restored = 'file';
      else restored = text === present ? 'nothing' : 'entries';
      return text === present ? undefined : text;
    });
    await record.forget(changes.map(({ id }) => id));
    return { path, restored };
  } catch (thrown) {
    if (!(thrown instanceof ThvError)) throw thrown;
    const hint = isWhole ? thrown.hint : 'to restore the whole file as it was, add --whole-files';
    return { path, restored: 'nothing', problem: thrown.message, ...(hint === undefined ? {} : { hint }) };
  }
}

/** Throws `conflict` if the text cannot be read. */
function leadsToWorkload(place: Place, text: string, { name, target }: Change): boolean {
  const present = entryTarget(place.application, textEntries(place, text).get(name));
  return present !== undefined && leadToSame(present, target);
}

/** An unreadable file may be a changed one, whose backup must stay. */
function seemsWritten(place: Place, text: string, change: Change): boolean {
  try {
    return leadsToWorkload(place, text, change);
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
