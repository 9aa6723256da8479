import { readOnlyProvider } from './provider.ts';
import type { SecretsProvider } from './provider.ts';

/** Secrets in `TOOLHIVE_SECRET_<name>` of the daemon's own environment. They are not listed. */
export function environmentSecrets(env: NodeJS.ProcessEnv): SecretsProvider {
  return readOnlyProvider('environment', {
    get: async (name) => read(env, name),
    list: async () => [],
  });
}

/** What the environment has for a secret that its provider does not have, unless that was turned off. */
export function environmentFallback(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return env['TOOLHIVE_DISABLE_ENV_FALLBACK'] === 'true' ? undefined : read(env, name);
}

function read(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[`TOOLHIVE_SECRET_${name}`];
  return value === '' ? undefined : value;
}
