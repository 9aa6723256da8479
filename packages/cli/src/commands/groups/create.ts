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
  await daemon.createGroup({ body: { name, ...(flags.has('meta') ? { meta: true } : {}) } }, { signal });
  const group = await daemon.getGroup({ params: { name } }, { signal });
  out.result(group, `created the group ${name}`);
}
