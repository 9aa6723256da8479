import type { CommandCall } from '../../command.ts';
import { providerTypeOf } from './provider-type.ts';

/** Chooses where secrets are kept. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const type = providerTypeOf(name);
  const hive = await client();
  const { message } = await hive.setupSecrets({ body: { provider_type: type } }, { signal });
  out.result(await hive.getSecretsProvider({}, { signal }), message);
}
