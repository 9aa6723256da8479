import { randomBytes } from 'node:crypto';
import type { Client } from '@toolhive/contract/client';
import { ThvError, invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { CommandCall } from '../../command.ts';
import { readText } from './assignments.ts';
import { clientSecretFlags } from './request.ts';

/** A request whose secrets are stored; they are removed again unless they are to be kept. */
interface Stored extends AsyncDisposable {
  request: CreateWorkload;
  keep: (isToBe: boolean) => void;
}

/** Stores the secrets of OAuth clients that flags brought along, and refers to them: no run config holds any. */
export async function storeClientSecrets(
  request: CreateWorkload,
  { flags, signal, hive }: Pick<CommandCall, 'flags' | 'signal'> & { hive: Client },
): Promise<Stored> {
  await using stored = new AsyncDisposableStack();
  let completed = request;
  for (const [field, [valueFlag, fileFlag]] of Object.entries(clientSecretFlags)) {
    const value = await secretFrom(flags.text(valueFlag), flags.text(fileFlag), fileFlag);
    if (value === undefined) continue;
    const name = await store(value, request, { hive, signal });
    stored.defer(() => hive.deleteSecret({ params: { key: name } }));
    const key = field as keyof typeof clientSecretFlags; // one of its own keys
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

async function secretFrom(
  value: string | undefined,
  file: string | undefined,
  fileFlag: string,
): Promise<string | undefined> {
  if (value !== undefined || file === undefined) return value;
  const text = (await readText(file, 'the secret of the client')).trim();
  if (text === '') throw invalid(`--${fileFlag} names an empty file`);
  return text;
}

/** Under the name that the original gives it; with an ending of its own when that is taken. */
async function store(
  value: string,
  { name, url, image }: CreateWorkload,
  { hive, signal }: { hive: Client; signal: AbortSignal },
): Promise<string> {
  const server = name ?? image ?? URL.parse(url ?? '')?.hostname ?? 'remote';
  const first = `OAUTH_CLIENT_SECRET_${server}`;
  for (const key of [first, `${first}_${randomBytes(4).toString('hex')}`]) {
    try {
      await hive.createSecret({ body: { key, value } }, { signal });
      return key;
    } catch (thrown) {
      if (key !== first || !(thrown instanceof ThvError) || thrown.kind !== 'conflict') throw thrown;
    }
  }
  return first;
}
