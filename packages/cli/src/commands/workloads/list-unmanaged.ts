import { invalid } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';

/** Lists the servers that clients run without ToolHive. */
export async function listUnmanaged({ flags, out, client, signal }: CommandCall): Promise<void> {
  const other = ['all', 'group', 'label'].find((flag) => flags.isGiven(flag));
  if (other !== undefined) throw invalid(`--unmanaged lists no workloads`, { hint: `omit --${other}` });
  if (flags.text('format') === 'mcpservers')
    throw invalid('--unmanaged has no format mcpservers', { hint: 'use --format json' });
  const daemon = await client();
  const found = await daemon.listUnmanagedServers({}, { signal });
  const { servers, problems } = found;
  out.result(found, (page) => {
    if (servers.length === 0) return page.line('No client runs a server without ToolHive.');
    page.table(
      ['CLIENT TYPE', 'NAME', 'COMMAND OR URL', 'CREDENTIALS IN THE FILE'],
      servers.map(({ client_type: type, name, command, url, credentials }) =>
        [type, name, command?.join(' ') ?? url ?? '', credentials.join(', ')].map(printable),
      ),
    );
    out.note('These servers are not isolated. To run them in isolation, use thv adopt.');
  });
  for (const { client_type: type, path, problem } of problems)
    out.note(`${type}: ${printable(path)} cannot be read: ${printable(problem)}`);
}
