import type { CommandCall } from '../../command.ts';

/** Has the keyring forget what opens the encrypted secrets. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  await daemon.forgetSecretsKey({}, { signal });
  out.result(
    await daemon.getSecretsProvider({}, { signal }),
    'the keyring has nothing more that opens the secrets; their password does',
  );
}
