import { unsupported } from '@toolhive/contract/failure';
import type { SecretKey, SecretsCapabilities, SecretsProviderType } from '@toolhive/contract/secrets';

/** A store of secrets. Throws only failures that callers may see, without secret values. */
export interface SecretsProvider {
  readonly type: SecretsProviderType;
  get(name: string): Promise<string | undefined>;
  list(): Promise<SecretKey[]>;
  /** Stores a value under its name, replacing an earlier value. */
  set(name: string, value: string): Promise<void>;
  /** False when there was nothing to delete. */
  delete(name: string): Promise<boolean>;
}

/** What can be done with each provider. */
export const capabilitiesOf: Record<SecretsProviderType, SecretsCapabilities> = {
  encrypted: { can_read: true, can_write: true, can_delete: true, can_list: true, can_cleanup: true },
  '1password': { can_read: true, can_write: false, can_delete: false, can_list: true, can_cleanup: false },
  none: { can_read: false, can_write: false, can_delete: false, can_list: true, can_cleanup: true },
  environment: { can_read: true, can_write: false, can_delete: false, can_list: false, can_cleanup: false },
};

/** A provider that can only be read, or not even that. */
export function readOnlyProvider(
  type: SecretsProviderType,
  read: Pick<SecretsProvider, 'get' | 'list'>,
): SecretsProvider {
  const refuse = (): Promise<never> => Promise.reject(unsupported(`secrets of ${type} are read-only`));
  return { type, ...read, set: refuse, delete: refuse };
}

/** Keeps nothing. */
export const noSecrets = readOnlyProvider('none', {
  get: async () => undefined,
  list: async () => [],
});
