import type { CommandCall } from '../../command.ts';
import { confirm } from '../../prompt.ts';

/** Deletes a secret, and asks first on a terminal. */
export async function run({ arguments: [key = ''], flags, out, client, signal }: CommandCall): Promise<void> {
  if (!flags.has('yes')) await confirm(`Delete the secret ${key}?`, { signal });
  const daemon = await client();
  await daemon.deleteSecret({ params: { key } }, { signal });
  out.result({ key }, `deleted the secret ${key}`);
}
