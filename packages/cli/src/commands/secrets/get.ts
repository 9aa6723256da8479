import type { CommandCall } from '../../command.ts';

/** Prints the value of a secret, which the daemon tells over its own socket only. */
export async function run({ arguments: [key = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { value } = await daemon.readSecret({ params: { key } }, { signal });
  out.result({ key, value }, (page) => page.verbatim(value));
}
