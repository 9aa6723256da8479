import { checkField, invalid } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readAuthzConfig } from '@toolhive/access/authz-file';
import { requestedOidc, storedOidc } from '@toolhive/access/oidc-config';
import { formatReference, isReference, parseReference } from '@toolhive/secrets/reference';
import type { Secrets } from '@toolhive/secrets/secrets';
import type { WorkloadRequest } from './draft.ts';

type AccessSettings = Pick<
  RunConfig,
  'oidc_config' | 'authz_config' | 'trust_proxy_headers' | 'token_exchange_config'
>;

/** A request's access settings in run config form: with policies instead of a path, and without a secret. */
export async function accessSettings(
  secrets: Secrets,
  request: WorkloadRequest,
  workload: string,
  present?: RunConfig,
): Promise<AccessSettings> {
  if (request.schema_version !== undefined) refuseTokenFile(request, present);
  const asked = request.schema_version === undefined ? requestedAccess(request) : storedAccess(request);
  const { oidc, authz, trusts, exchange } = asked;
  const policies =
    typeof authz === 'string' ? await checkField('/authz_config', () => readAuthzConfig(authz)) : authz;
  const secret = oidc?.client_secret;
  const reference =
    secret === undefined || isReference(secret) ? secret : await storeSecret(secrets, workload, secret);
  const oidc_config = storedOidc(
    oidc && reference !== undefined ? { ...oidc, client_secret: reference } : oidc,
  );
  return {
    ...(oidc_config === undefined ? {} : { oidc_config }),
    ...(policies === undefined ? {} : { authz_config: policies }),
    ...(trusts ? { trust_proxy_headers: true } : {}),
    ...(exchange === undefined ? {} : { token_exchange_config: exchange }),
  };
}

/**
 * The file's content is sent to a host that the same run config names, and another person may have written the run
 * config. A request comes from the user.
 */
function refuseTokenFile(runConfig: RunConfig, present: RunConfig | undefined): void {
  const asked = requestedOidc(runConfig)?.auth_token_file;
  if (asked === undefined || (present !== undefined && requestedOidc(present)?.auth_token_file === asked))
    return;
  throw invalid(`a run config cannot make ToolHive read the token file ${asked}`, {
    hint: 'remove AuthTokenFile and jwks_auth_token_file, and run the server with --jwks-auth-token-file instead',
  });
}

/** The policies of a run config as a request takes them. */
export function authzText({ authz_config: config, authz_config_path: path }: RunConfig): string {
  return config ? JSON.stringify(config) : (path ?? '');
}

/** A run config's token exchange in request form. */
export function requestedExchange({
  token_exchange_config: config,
}: RunConfig): CreateWorkload['token_exchange'] {
  if (!config) return undefined;
  const { client_secret: secret, external_token_header_name: header, subject_token_type: type } = config;
  const { token_url, audience, client_id, scopes } = config;
  return {
    ...(token_url ? { token_url } : {}),
    ...(audience ? { audience } : {}),
    ...(client_id ? { client_id } : {}),
    ...(scopes?.length ? { scopes } : {}),
    ...(secret ? { client_secret: parseReference(secret) } : {}),
    ...(type === 'access_token' || type === 'id_token' ? { subject_token_type: type } : {}),
    ...(header ? { header_name: header } : {}),
  };
}

interface Asked {
  oidc: CreateWorkload['oidc'];
  authz: string | RunConfig['authz_config'];
  trusts: boolean | undefined;
  exchange: RunConfig['token_exchange_config'];
}

/** The original sends the empty text for settings that the user has not made. */
function withoutEmptyTexts(oidc: CreateWorkload['oidc']): CreateWorkload['oidc'] {
  const made = Object.entries(oidc ?? {}).filter(([, value]) => value !== '');
  return made.length === 0 ? undefined : Object.fromEntries(made);
}

function requestedAccess(request: CreateWorkload): Asked {
  const { oidc, authz_config, trust_proxy_headers, token_exchange } = request;
  return {
    oidc: withoutEmptyTexts(oidc),
    authz: authz_config === '' ? undefined : authz_config,
    trusts: trust_proxy_headers,
    exchange: storedExchange(token_exchange),
  };
}

/** Its other parts stay as they are. */
function storedAccess(runConfig: RunConfig): Asked {
  return {
    oidc: requestedOidc(runConfig),
    authz: runConfig.authz_config ?? undefined,
    trusts: runConfig.trust_proxy_headers,
    exchange: runConfig.token_exchange_config ?? undefined,
  };
}

function storedExchange(asked: CreateWorkload['token_exchange']): RunConfig['token_exchange_config'] {
  if (!asked || Object.keys(asked).length === 0) return undefined;
  const { client_secret: secret, header_name: header, ...others } = asked;
  return {
    ...others,
    ...(secret ? { client_secret: formatReference(secret) } : {}),
    header_strategy: header ? 'custom' : 'replace',
    ...(header ? { external_token_header_name: header } : {}),
  };
}

/** Stores a secret from a request, and returns its reference. */
async function storeSecret(secrets: Secrets, workload: string, value: string): Promise<string> {
  const name = `OIDC_CLIENT_SECRET_${workload}`;
  await secrets.put(name, value);
  return formatReference({ name, target: 'oidc_secret' });
}
