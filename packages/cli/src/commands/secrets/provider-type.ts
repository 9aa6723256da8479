import { invalid } from '@toolhive/contract/failure';
import { SecretsProviderType } from '@toolhive/contract/secrets';

/** The provider that the user typed. Throws `invalid` with the known providers. */
export function providerTypeOf(typed: string): SecretsProviderType {
  const parsed = SecretsProviderType.safeParse(typed);
  if (parsed.success) return parsed.data;
  throw invalid(`secrets provider ${JSON.stringify(typed)} not found`, {
    hint: `use ${SecretsProviderType.options.join(', ')}`,
  });
}
