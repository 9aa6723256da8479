import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';

/** Changes the name, the description, or the meta server of a group. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const newName = flags.text('rename');
  const description = flags.text('description');
  const meta = flags.text('meta');
  if (newName === undefined && description === undefined && meta === undefined) {
    throw invalid('--rename, --description, or --meta is required', {
      hint: 'run thv group edit --help to see all flags',
    });
  }
  const daemon = await client();
  const group = await daemon.editGroup(
    {
      params: { name },
      body: { name: newName, description, ...(meta === undefined ? {} : { meta: meta === 'on' }) },
    },
    { signal },
  );
  out.result(
    group,
    newName === undefined ? `changed the group ${name}` : `renamed the group ${name} to ${newName}`,
  );
}
