import { invalid } from '@toolhive/contract/failure';
import { EndpointChoice } from '@toolhive/contract/group';
import type { CommandCall } from '../../command.ts';

/** Changes the name, the description, or the endpoint of a group. */
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
  const endpoint = EndpointChoice.optional().parse(flags.text('endpoint')); // one of the choices
  const chosen = flags.list('tool');
  const areAll = flags.has('all-tools');
  if (areAll && chosen.length > 0)
    throw invalid('--all-tools and --tool exclude each other', { hint: 'use one of them' });
  const tools = areAll || chosen.length > 0 ? [...chosen] : undefined;
  if ([newName, description, meta, endpoint, tools].every((change) => change === undefined)) {
    throw invalid('--rename, --description, --meta, --endpoint, or --tool is required', {
      hint: 'run thv group edit --help to see all flags',
    });
  }
  const daemon = await client();
  const group = await daemon.editGroup(
    {
      params: { name },
      body: {
        name: newName,
        description,
        ...(meta === undefined ? {} : { meta: meta === 'on' }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(tools === undefined ? {} : { tools }),
      },
    },
    { signal },
  );
  out.result(
    group,
    newName === undefined ? `changed the group ${name}` : `renamed the group ${name} to ${newName}`,
  );
}
