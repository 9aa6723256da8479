import { notFound } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { Workload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import type { Page } from '../../out.ts';
import { paintedStatus } from './list.ts';

/** Shows one workload, in the same form as `thv list`. A stopped workload is not a failure. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true' } }, { signal });
  const workload = workloads.find((candidate) => candidate.name === name);
  if (workload === undefined) throw notFound(`workload ${name} not found`);
  const { transport_type: transport, status_context: health } = workload;
  // The last two have other names in a list, but scripts for the original expect these.
  out.result({ ...workload, transport, ...(health !== undefined && { health }) }, (page) => {
    for (const [label, value] of described(page, workload)) page.line(`${`${label}:`.padEnd(13)}${value}`);
    for (const warning of workload.warnings ?? []) {
      if (workload.limits?.includes(warning) !== true) out.note(`${name}: ${warning}`);
    }
  });
}

function described(page: Page, workload: Workload): [string, string][] {
  const { status_context: context, labels = {} } = workload;
  const lines: [string, string | undefined][] = [
    ['Name', workload.name],
    ['Status', paintedStatus(page, workload)],
    ['Health', context],
    ['Package', workload.package],
    ['URL', workload.url],
    ['Port', workload.port === 0 ? '' : String(workload.port)],
    ['Transport', workload.transport_type],
    ['Proxy mode', workload.proxy_mode],
    ['Group', workload.group],
    [
      'Labels',
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
    ],
    ['Created', workload.created_at],
    ['Remote', workload.remote ? 'true' : undefined],
  ];
  // A line break would begin another label.
  return lines.flatMap(([label, value = '']) =>
    value === '' ? [] : [[label, label === 'Status' ? value : printable(value.replaceAll(/\s+/g, ' '))]],
  );
}
