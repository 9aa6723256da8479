import { invalid } from '@toolhive/contract/failure';
import { SecretsProviderType } from '@toolhive/contract/secrets';

/** The provider that somebody has typed. Throws `invalid` with those that there are. */
export function providerTypeOf(typed: string): SecretsProviderType {
  const parsed = SecretsProviderType.safeParse(typed);
  if (parsed.success) return parsed.data;
  throw invalid(`${JSON.stringify(typed)} is no provider of secrets`, {
    hint: `there are ${SecretsProviderType.options.join(', ')}`,
  });
}
