import type { CommandCall } from '../../command.ts';

/** Makes a group. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  await hive.createGroup({ body: { name } }, { signal });
  const group = await hive.getGroup({ params: { name } }, { signal });
  out.result(group, `created the group ${name}`);
}
