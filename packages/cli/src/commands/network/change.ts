import type { PermissionChange } from '@toolhive/contract/network';
import type { CommandCall } from '../../command.ts';
import { showPermissions } from './permissions.ts';

/** A command that changes a workload's network access, and shows the result. */
export function changeWith(changeFor: (hosts: string[]) => PermissionChange) {
  return async ({ arguments: [name = '', ...hosts], out, client, signal }: CommandCall): Promise<void> => {
    const daemon = await client();
    const body = changeFor([...hosts]);
    const changed = await daemon.changePermissions({ params: { name }, body }, { signal });
    out.result(changed, (page) => {
      showPermissions(page, changed.permissions);
      if (changed.restarted)
        out.note(`${name} was restarted, because its network needs a port that was not in use.`);
    });
  };
}
