import type { Workload, WorkloadStatus } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { printable } from '@toolhive/contract/printable';
import type { Page } from '../../out.ts';
import type { Colour } from '../../standard-streams.ts';
import { readPairs } from './assignments.ts';

/** Lists workloads. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, client, signal } = call;
  if (flags.has('unmanaged')) return (await import('./list-unmanaged.ts')).listUnmanaged(call);
  const labels = readPairs('label', flags.list('label'));
  const daemon = await client();
  const group = flags.text('group');
  const query = { all: flags.has('all') ? 'true' : undefined, group };
  const found = await daemon.listWorkloads({ query }, { signal });
  const workloads = found.workloads.filter((workload) =>
    labels.every(([key, value]) => workload.labels?.[key] === value),
  );
  const isForClients = flags.text('format') === 'mcpservers';
  out.result(isForClients ? asClientSettings(workloads) : workloads, (page) => {
    if (workloads.length === 0) return page.line(nothing(flags.has('all'), group, labels.length > 0));
    const columns = ['NAME', 'PACKAGE', 'STATUS', 'URL', 'PORT', 'TOOL TYPE', 'GROUP', 'CREATED AT'];
    const rows = workloads.map((workload) => row(page, workload));
    if (!flags.has('sessions')) page.table(columns, rows);
    else {
      const processes = workloads.map(({ session_processes: text = '' }) => printable(text));
      page.table(
        [...columns, 'SESSIONS'],
        rows.map((cells, n) => [...cells, processes[n] ?? '']),
      );
    }
    for (const { name, status, status_context: context, warnings = [], limits = [] } of workloads) {
      if (context !== undefined && status !== 'running') out.note(`${name}: ${printable(context)}`);
      // The limits of the machine are shown once, by `thv run`.
      for (const warning of warnings) if (!limits.includes(warning)) out.note(`${name}: ${warning}`);
    }
  });
}

/** The format that many clients use for their settings. */
function asClientSettings(workloads: readonly Workload[]): object {
  const servers = workloads.map(({ name, url, proxy_mode: type }) => [name, { url, type }] as const);
  return { mcpServers: Object.fromEntries(servers) };
}

function nothing(isAll: boolean, group: string | undefined, hasLabels: boolean): string {
  const which = [
    ...(group === undefined ? [] : [` in the group ${group}`]),
    ...(hasLabels ? [' with these labels'] : []),
  ].join('');
  return isAll
    ? `No workloads found${which}.`
    : `No workload runs${which}. Run thv list --all to see the others.`;
}

function row(page: Page, workload: Workload): string[] {
  return [
    workload.name,
    workload.remote ? 'remote' : printable(workload.package),
    paintedStatus(page, workload),
    workload.url,
    workload.port === 0 ? '' : String(workload.port),
    workload.tool_type,
    workload.group,
    workload.created_at,
  ];
}

/** A workload status in its color. */
export function paintedStatus(page: Page, { status }: Workload): string {
  return page.paint(colours[status], status);
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
