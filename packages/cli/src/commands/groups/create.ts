import { GroupEndpoint } from '@toolhive/contract/group';
import type { CommandCall } from '../../command.ts';

/** Makes a group. */
export async function run({
  arguments: [name = ''],
  flags,
  out,
  client,
  signal,
}: CommandCall): Promise<void> {
  const daemon = await client();
  const endpoint = GroupEndpoint.optional().parse(flags.text('endpoint')); // one of the choices
  const tools = flags.list('tool');
  await daemon.createGroup(
    {
      body: {
        name,
        ...(flags.has('meta') ? { meta: true } : {}),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(tools.length === 0 ? {} : { tools: [...tools] }),
      },
    },
    { signal },
  );
  const group = await daemon.getGroup({ params: { name } }, { signal });
  out.result(group, `created the group ${name}`);
}
