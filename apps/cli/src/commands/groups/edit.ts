import { invalid } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';

/** Changes the name or the description of a group. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const newName = flags.text('rename');
  const description = flags.text('description');
  if (newName === undefined && description === undefined) {
    throw invalid('--rename or --description is required', {
      hint: 'run thv group edit --help to see both flags',
    });
  }
  const daemon = await client();
  const group = await daemon.editGroup(
    { params: { name }, body: { name: newName, description } },
    { signal },
  );
  out.result(
    group,
    newName === undefined ? `changed the group ${name}` : `renamed the group ${name} to ${newName}`,
  );
}
