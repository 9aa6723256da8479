import type { CreateWorkload } from '@toolhive/contract/workload';
import type { FlagValues } from '../../command.ts';
import { clientSecretFlags, clientSecretFrom } from '../client-secret.ts';
import type { StoredSecrets } from './stored-secrets.ts';

/** Stores the secrets of OAuth clients that flags brought along, and refers to them: no run config holds any. */
export async function withClientSecrets(
  request: CreateWorkload,
  flags: FlagValues,
  secrets: StoredSecrets,
): Promise<CreateWorkload> {
  const { name, image, url } = request;
  // The original uses this name.
  const key = `OAUTH_CLIENT_SECRET_${name ?? image ?? URL.parse(url ?? '')?.hostname ?? 'remote'}`;
  let completed = request;
  for (const part of Object.keys(clientSecretFlags) as (keyof typeof clientSecretFlags)[]) {
    const value = await clientSecretFrom(flags, part);
    if (value === undefined) continue;
    const client_secret = { name: await secrets.store(key, value), target: 'oauth_secret' };
    completed = { ...completed, [part]: { ...completed[part], client_secret } };
  }
  return completed;
}
