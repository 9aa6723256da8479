import type { Workload, WorkloadStatus } from '@toolhive/contract/workload';
import type { CommandCall } from '../command.ts';
import { printable } from '../out.ts';
import type { Colour, Out } from '../out.ts';

/** Lists workloads. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  const query = { all: flags.has('all') ? 'true' : undefined, group: flags.text('group') };
  const { workloads } = await hive.listWorkloads({ query }, { signal });
  if (flags.text('format') === 'json') return out.json(workloads);
  if (workloads.length === 0) {
    return out.line(
      flags.has('all') ? 'There are no workloads.' : 'No workload runs. `thv list --all` shows the others.',
    );
  }
  out.table(
    ['NAME', 'PACKAGE', 'STATUS', 'URL', 'PORT', 'GROUP', 'CREATED AT'],
    workloads.map((workload) => row(out, workload)),
  );
  for (const { name, status, status_context: context, warnings = [] } of workloads) {
    if (context !== undefined && status !== 'running') out.note(`${name}: ${printable(context)}`);
    for (const warning of warnings) out.note(`${name}: ${warning}`);
  }
}

function row(out: Out, workload: Workload): string[] {
  return [
    workload.name,
    printable(workload.package),
    out.paint(colours[workload.status], workload.status),
    workload.url,
    workload.port === 0 ? '' : String(workload.port),
    workload.group,
    workload.created_at,
  ];
}

const colours: Record<WorkloadStatus, Colour> = {
  running: 'green',
  starting: 'yellow',
  stopping: 'yellow',
  removing: 'yellow',
  stopped: 'dim',
  unknown: 'dim',
  unhealthy: 'red',
  error: 'red',
};
