import { combinedServerName, metaServerName } from '@toolhive/contract/names';
import { readFile } from 'node:fs/promises';
import { invalid, messageOf, notFound } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { PermissionProfile, builtInProfiles } from '@toolhive/contract/permission-profile';
import { RunConfig } from '@toolhive/contract/run-config';
import type { ZodType } from 'zod';

/** Where run configs are, in this order. */
const places = ['/etc/runconfig/runconfig.json', '/etc/toolhive/runconfig.json', './runconfig.json'];
const maxDepth = 64;
/** The variables with secrets, which are never in a run config. */
const oidcSecret = 'TOOLHIVE_OIDC_CLIENT_SECRET';
const exchangeSecret = 'TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET';

/**
 * Reads the run config from `path` or from the first default place with a file, with its permission profile and with
 * references to the secrets in the environment. Throws `invalid` with the file and the field, and `not-found` without a
 * file.
 */
export async function readRunConfig(path: string | undefined, env: NodeJS.ProcessEnv): Promise<RunConfig> {
  const file = path ?? (await firstPlace());
  const runConfig = await readJson(file, 'run config', RunConfig);
  const refuse = (field: string, problem: string, hint: string) =>
    invalid(`run config ${file} is invalid at ${field}: ${problem}`, { hint });
  if (runConfig.built_in !== undefined && runConfig.remote_url)
    throw refuse('remote_url', 'a built-in server has no URL', 'remove remote_url');
  if (runConfig.built_in !== undefined && runConfig.transport !== 'stdio')
    throw refuse('transport', 'a built-in server has no other transport', 'use stdio');
  if (runConfig.built_in === combinedServerName)
    throw refuse('built_in', `${combinedServerName} needs a daemon`, `use ${metaServerName}`);
  if (runConfig.transport === 'inspector') throw refuse('transport', 'inspector needs a daemon', 'use stdio');
  if (runConfig.transport !== 'stdio' && !runConfig.remote_url && !runConfig.target_port)
    throw refuse('target_port', 'a port is required', 'set the port that the server listens on');
  return {
    ...runConfig,
    permission_profile: await profileOf(runConfig),
    // One attached container has one standard input, which all clients share.
    ...(runConfig.transport === 'stdio' ? { sessions: 'shared' as const } : {}),
    ...(runConfig.oidc_config && env[oidcSecret]
      ? { oidc_config: { ...runConfig.oidc_config, ClientSecret: `${oidcSecret},target=oidc_secret` } }
      : {}),
    ...(runConfig.token_exchange_config && env[exchangeSecret]
      ? {
          token_exchange_config: {
            ...runConfig.token_exchange_config,
            client_secret: `${exchangeSecret},target=client_secret`,
          },
        }
      : {}),
  };
}

async function firstPlace(): Promise<string> {
  for (const place of places) {
    const exists = await readFile(place).then(
      () => true,
      () => false, // the next place is tried
    );
    if (exists) return place;
  }
  throw notFound(`run config not found in ${places.join(', ')}`, {
    hint: 'mount a run config, or use --run-config',
  });
}

async function profileOf(runConfig: RunConfig): Promise<PermissionProfile | null> {
  const { permission_profile: profile, permission_profile_name_or_path: named } = runConfig;
  if (profile) return profile;
  if (!named) return null;
  const builtIn = Object.entries(builtInProfiles).find(([name]) => name === named)?.[1];
  return builtIn ?? readJson(named, 'permission profile', PermissionProfile);
}

async function readJson<Value>(path: string, what: string, schema: ZodType<Value>): Promise<Value> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw invalid(`cannot read ${what} ${path}: ${messageOf(cause)}`, { cause });
  });
  const { data, error } = schema.safeParse(parseJson(text, `${what} ${path}`, { maxDepth }));
  if (data !== undefined) return data;
  const [issue] = error?.issues ?? [];
  throw invalid(
    `${what} ${path} is invalid at ${issue?.path.join('.') || 'its beginning'}: ${issue?.message}`,
    { hint: 'correct this field' },
  );
}
