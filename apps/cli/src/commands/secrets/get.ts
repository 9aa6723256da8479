import type { CommandCall } from '../../command.ts';

/** Prints the value of a secret, which the hive tells over its own socket only. */
export async function run({ arguments: [key = ''], out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  const { value } = await hive.readSecret({ params: { key } }, { signal });
  out.result({ key, value }, value);
}
