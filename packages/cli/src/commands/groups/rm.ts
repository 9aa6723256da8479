import { invalid } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { CommandCall } from '../../command.ts';
import { confirm } from '../../prompt.ts';

/** Removes a group, and asks before anything happens to its workloads. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  await daemon.getGroup({ params: { name } }, { signal });
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true', group: name } }, { signal });
  const removed = flags.has('with-workloads');
  const what = `${workloads.length === 1 ? 'workload' : `${workloads.length} workloads`} (${workloads
    .map((workload) => workload.name)
    .join(', ')})`;
  const fate = removed ? `its ${what} will be removed` : `its ${what} will move to the group ${defaultGroup}`;

  // The daemon refuses to remove the default group, so no question is necessary.
  if (workloads.length > 0 && name !== defaultGroup && !flags.has('yes')) {
    await confirm(`Remove the group ${name}? Then ${fate}.`, {
      signal,
      unanswered: invalid(`the group ${name} has workloads, and ${fate}`, {
        hint: 'add --yes to confirm',
      }),
    });
  }
  await daemon.deleteGroup({ params: { name }, query: { 'with-workloads': String(removed) } }, { signal });
  const names = workloads.map((workload) => workload.name);
  const becameOf = removed ? { removed_workloads: names } : { moved_workloads: names };
  out.result({ name, removed_workloads: [], moved_workloads: [], ...becameOf }, `removed the group ${name}`);
}
