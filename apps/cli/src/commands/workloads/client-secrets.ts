import { randomBytes } from 'node:crypto';
import type { Client } from '@toolhive/contract/client';
import { ThvError } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { clientSecretFlags, clientSecretFrom } from '../client-secret.ts';

/** A request whose secrets are stored; they are removed again unless they are to be kept. */
interface Stored extends AsyncDisposable {
  request: CreateWorkload;
  keep: (isToBe: boolean) => void;
}

/** Stores the secrets of OAuth clients that flags brought along, and refers to them: no run config holds any. */
export async function storeClientSecrets(
  request: CreateWorkload,
  { flags, signal, daemon }: Pick<CommandCall, 'flags' | 'signal'> & { daemon: Client },
): Promise<Stored> {
  await using stored = new AsyncDisposableStack();
  let completed = request;
  for (const key of Object.keys(clientSecretFlags) as (keyof typeof clientSecretFlags)[]) {
    const value = await clientSecretFrom(flags, key);
    if (value === undefined) continue;
    const name = await store(value, request, { daemon, signal });
    stored.defer(() => daemon.deleteSecret({ params: { key: name } }));
    completed = {
      ...completed,
      [key]: { ...completed[key], client_secret: { name, target: 'oauth_secret' } },
    };
  }
  const everything = stored.move();
  let isKept = false;
  return {
    request: completed,
    keep: (isToBe) => (isKept = isToBe),
    [Symbol.asyncDispose]: async () => (isKept ? undefined : everything.disposeAsync()),
  };
}

/** Under the name that the original gives it; with an ending of its own when that is taken. */
async function store(
  value: string,
  { name, url, image }: CreateWorkload,
  { daemon, signal }: { daemon: Client; signal: AbortSignal },
): Promise<string> {
  const server = name ?? image ?? URL.parse(url ?? '')?.hostname ?? 'remote';
  const key = `OAUTH_CLIENT_SECRET_${server}`;
  try {
    await daemon.createSecret({ body: { key, value } }, { signal });
    return key;
  } catch (thrown) {
    if (!(thrown instanceof ThvError) || thrown.kind !== 'conflict') throw thrown;
  }
  const other = `${key}_${randomBytes(4).toString('hex')}`;
  await daemon.createSecret({ body: { key: other, value } }, { signal });
  return other;
}
