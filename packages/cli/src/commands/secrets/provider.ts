import type { CommandCall } from '../../command.ts';
import { providerTypeOf } from './provider-type.ts';

/** Chooses where secrets are kept. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const type = providerTypeOf(name);
  const daemon = await client();
  const { message } = await daemon.setupSecrets({ body: { provider_type: type } }, { signal });
  out.result(await daemon.getSecretsProvider({}, { signal }), message);
}
