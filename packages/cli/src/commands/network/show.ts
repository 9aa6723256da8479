import type { CommandCall } from '../../command.ts';
import { showPermissions } from './permissions.ts';

/** Shows a workload's permissions. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const permissions = await daemon.getPermissions({ params: { name } }, { signal });
  out.result(permissions, (page) => showPermissions(page, permissions));
}
