import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';
import { applicationOf } from './application.ts';

/** Shows how registering a client for a group would change its configuration file. */
export async function run({ arguments: [typed], flags, out, client, signal }: CommandCall): Promise<void> {
  const name = applicationOf(typed);
  const daemon = await client();
  const group = flags.text('group');
  const preview = await daemon.previewClient({ params: { name }, query: { group } }, { signal });
  out.result(preview, (page) => {
    page.line(printable(preview.path));
    for (const line of preview.diff === '' ? [] : preview.diff.split('\n')) {
      page.line(page.paint(line.startsWith('+') ? 'green' : 'red', printable(line)));
    }
    if (preview.changes.length === 0) page.line('Nothing would change: the group has no running workload.');
    if (preview.problem !== undefined) page.line(`Problem: ${printable(preview.problem)}`);
  });
}
