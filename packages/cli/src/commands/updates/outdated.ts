import type { WorkloadUpdate } from '@toolhive/contract/update';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { upgradeLines } from './upgrade-text.ts';

/** Shows the newest version of each server. */
export async function run({ arguments: chosen, flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const names =
    chosen.length > 0
      ? chosen
      : (await daemon.listWorkloads({ query: { all: 'true' } }, { signal })).workloads
          .filter((workload) => workload.package !== '') // the run config of the others cannot be read
          .map(({ name }) => name);
  const query = flags.has('changes') ? { changes: 'true' } : {};
  const updates: WorkloadUpdate[] = [];
  // One after the other: each look-up starts programs.
  for (const name of names) {
    out.progress(`looking up ${name}`);
    updates.push(await daemon.getWorkloadUpdate({ params: { name }, query }, { signal }));
  }
  out.result(updates, (page) => {
    if (updates.length === 0) return page.line('No workloads found.');
    page.table(
      ['NAME', 'CURRENT', 'NEWEST', 'PUBLISHED', 'NOTE'],
      updates.map((update) => [
        update.name,
        oneLine(update.current ?? ''),
        page.paint(update.outdated ? 'yellow' : 'green', oneLine(update.newest ?? '')),
        update.published_at ?? '',
        oneLine(
          update.reason ?? (update.young ? 'published very recently' : update.outdated ? 'outdated' : ''),
        ),
      ]),
    );
    for (const update of updates) {
      if (update.changes === undefined) continue;
      page.line('');
      for (const line of upgradeLines(update)) page.line(line);
    }
  });
}
