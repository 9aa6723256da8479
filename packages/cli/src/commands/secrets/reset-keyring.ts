import type { CommandCall } from '../../command.ts';

/** Deletes the key of the encrypted secrets from the keyring. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  await daemon.forgetSecretsKey({}, { signal });
  out.result(
    await daemon.getSecretsProvider({}, { signal }),
    'the keyring contains no key for the secrets. They open only with their password',
  );
}
