import type { Client, Item, ItemOverview, VaultOverview } from '@1password/sdk';
import { ThvError, conflict, forbidden, invalid, timedOut, unavailable } from '@toolhive/contract/failure';
import type { SecretKey } from '@toolhive/contract/secrets';
import { readOnlyProvider } from './provider.ts';
import type { SecretsProvider } from './provider.ts';

/** What is used of 1Password's own client. */
export interface OnePasswordClient {
  secrets: Pick<Client['secrets'], 'resolve'>;
  vaults: Pick<Client['vaults'], 'list'>;
  items: Pick<Client['items'], 'list' | 'get'>;
}

export interface OnePasswordOptions {
  /** Has the token of a service account in `OP_SERVICE_ACCOUNT_TOKEN`. */
  env: NodeJS.ProcessEnv;
  version: string;
  /** Replaces 1Password in tests. */
  connect?: (token: string, version: string) => Promise<OnePasswordClient>;
  limits?: { startMs: number; callMs: number };
}

const defaultLimits = { startMs: 5_000, callMs: 30_000 };

/** Secrets in 1Password, named by references such as `op://vault/item/field`. ToolHive changes nothing there. */
export function onePasswordSecrets(options: OnePasswordOptions): SecretsProvider {
  const { env, version, connect = connectSdk, limits = defaultLimits } = options;
  let client: Promise<OnePasswordClient> | undefined;

  async function call<Result>(ask: (client: OnePasswordClient) => Promise<Result>): Promise<Result> {
    const token = env['OP_SERVICE_ACCOUNT_TOKEN'];
    if (!token) {
      throw unavailable('OP_SERVICE_ACCOUNT_TOKEN is not set', {
        hint: 'start the daemon with the token of a 1Password service account in this variable',
      });
    }
    client ??= within(limits.startMs, connect(token, version));
    const connected = await client.catch((error: unknown) => {
      client = undefined; // the next one tries again
      throw explain(error);
    });
    return within(limits.callMs, ask(connected));
  }

  return readOnlyProvider('1password', {
    async get(name) {
      if (!name.includes('op://')) return undefined;
      try {
        return await call(({ secrets }) => secrets.resolve(name));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw explain(error);
      }
    },
    async list() {
      try {
        return await call(listFields);
      } catch (error) {
        throw explain(error);
      }
    },
  });
}

async function listFields({ vaults, items }: OnePasswordClient): Promise<SecretKey[]> {
  const keys: SecretKey[] = [];
  for (const vault of await vaults.list()) {
    // One at a time, because 1Password limits the request rate.
    for (const item of await items.list(vault.id)) {
      keys.push(...keysOf(vault, item, await items.get(vault.id, item.id)));
    }
  }
  return keys;
}

function keysOf(vault: VaultOverview, item: ItemOverview, { fields }: Item): SecretKey[] {
  return fields.map((field) => ({
    key: `op://${vault.id}/${item.id}/${field.id}`,
    description: `${vault.title} :: ${item.title} :: ${field.title}`,
  }));
}

/** The client library is large, so it is loaded only if 1Password is used. */
async function connectSdk(token: string, version: string): Promise<OnePasswordClient> {
  const { createClient } = await import('@1password/sdk').catch((cause: unknown) => {
    throw unavailable('the 1Password client cannot be loaded', {
      hint: 'install ToolHive with its optional packages: @1password/sdk is missing',
      cause,
    });
  });
  return createClient({ auth: token, integrationName: 'ToolHive', integrationVersion: version });
}

async function within<Result>(limitMs: number, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(timedOut(`1Password did not answer within ${limitMs / 1000} seconds`)),
    limitMs,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const missing =
  /no vault matched|no item matched|no section matched|cannot be found within the item|document not found|not in an active state/;

function isMissing(error: unknown): boolean {
  return !(error instanceof ThvError) && missing.test(String(error));
}

/** Messages from the 1Password client, and their meanings. */
const meanings: [says: RegExp, meaning: () => ThvError][] = [
  [
    /service account token/i,
    () =>
      unavailable('OP_SERVICE_ACCOUNT_TOKEN does not contain a valid token', {
        hint: 'start the daemon with the token of a 1Password service account in this variable',
      }),
  ],
  [
    /not authenticated|right permissions/,
    () => forbidden('this 1Password service account has no permission for the operation'),
  ],
  [/rate limit/i, () => unavailable('1Password received too many requests', { hint: 'try again later' })],
  [/more than one/, () => conflict('the secret reference matches more than one secret in 1Password')],
  [
    /secret reference/,
    () =>
      invalid('the name is not a 1Password secret reference', {
        hint: 'use the form op://vault/item/field',
      }),
  ],
];

/** Converts an exception to a failure. Drops the original text, which may quote input. */
function explain(thrown: unknown): ThvError {
  if (thrown instanceof ThvError) return thrown;
  const [, meaning] = meanings.find(([says]) => says.test(String(thrown))) ?? [];
  return (
    meaning?.() ??
    unavailable('cannot reach 1Password', {
      hint: 'check that 1Password is reachable from this machine',
    })
  );
}
