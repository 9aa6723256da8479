import type { Client } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { canAsk, confirm } from '../../prompt.ts';
import { forEach, selectedNames } from './many.ts';

/** Removes workloads and returns when nothing of them is left. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: named, flags, out, client, signal } = call;
  const names = await selectedNames(call);
  if (names.length === 0) out.note('There is nothing to remove.');
  // Users who name workloads know them, and scripts could not answer.
  const daemon = await client();
  if (!flags.has('yes') && names.length > 0) {
    const stored = canAsk() ? await storedFiles(names, daemon, signal) : [];
    const files = stored.length === 0 ? '' : ` with the files that they have stored: ${stored.join(', ')}`;
    if (named.length === 0) {
      await confirm(`Remove ${names.length} workloads (${names.join(', ')})${files}?`, { signal });
    } else if (stored.length > 0) await confirm(`Remove ${names.join(', ')}${files}?`, { signal });
  }
  await forEach(names, { what: 'removed', out, mayBeAbsent: true }, async (name) => {
    await daemon.deleteWorkload({ params: { name } }, { signal, onProgress: out.progress });
    return { shown: `removed ${name}` };
  });
  await noteAdopted(names, daemon, call);
}

/** Entries of clients that lead to a removed workload still lead there. */
async function noteAdopted(
  names: readonly string[],
  daemon: Client,
  { out, signal }: Pick<CommandCall, 'out' | 'signal'>,
): Promise<void> {
  const { adoptions } = await daemon.listAdoptions({}, { signal });
  const clients = adoptions.flatMap(({ workload, client_type: type }) =>
    names.includes(workload) ? [type] : [],
  );
  if (clients.length === 0) return;
  const which = [...new Set(clients)].join(' ');
  out.note(
    `The files of ${which} still contain entries for removed workloads. To restore the files, run thv adopt --undo ${which}`,
  );
}

/** Names the home directories that contain files, with their sizes. */
async function storedFiles(names: readonly string[], daemon: Client, signal: AbortSignal): Promise<string[]> {
  const homes = await Promise.all(
    names.map(async (name) => {
      const details = await daemon.getWorkload({ params: { name } }, { signal }).catch((error: unknown) => {
        if (error instanceof ThvError && error.kind === 'not-found') return undefined; // the removal reports the error
        throw error;
      });
      return details?.home;
    }),
  );
  return homes.flatMap((home) => (home === undefined ? [] : `${home.path} (${inUnits(home.size_bytes)})`));
}

function inUnits(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1 ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.ceil(mebibytes)} MiB`;
}
