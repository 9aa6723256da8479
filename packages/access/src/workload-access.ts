import { userInfo } from 'node:os';
import { checkField, invalid, invalidField } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Principal } from '@toolhive/proxy/principal';
import type { ProxyAccess } from '@toolhive/proxy/proxy';
import { parseReference } from '@toolhive/secrets/reference';
import { readCertificates } from '@toolhive/state/kinds';
import { readBoundedFile } from '@toolhive/state/files';
import { requestedOidc } from './oidc-config.ts';
import type { Policies } from './policies.ts';

/** Who may use a workload, and for what. */
export interface WorkloadAccess extends Disposable {
  /** Absent if callers are not authenticated. */
  access?: ProxyAccess;
  authorizer?: Policies;
  /** Who all callers are without authentication. */
  localUser?: Principal;
  /** Names that clients may use for the proxy in addition to its own. */
  publicHosts: readonly string[];
  trustProxyHeaders: boolean;
}

/** Returns the value of a stored secret. */
type ReadSecret = (name: string) => Promise<string>;

const maxTokenBytes = 64 * 1024;

/**
 * Reads the access rules of a run config. Makes no requests. Throws if a rule cannot be enforced, because a workload
 * with authentication or policies must not start without them.
 */
export async function openWorkloadAccess(
  runConfig: RunConfig,
  readSecret: ReadSecret,
): Promise<WorkloadAccess> {
  const access = await openAuthentication(runConfig, readSecret);
  const policies = await openPolicies(runConfig);
  const resource = access?.resource?.resource;
  return {
    ...(access === undefined ? {} : { access }),
    ...(policies === undefined ? {} : { authorizer: policies }),
    ...(policies !== undefined && access === undefined ? { localUser: localUser() } : {}),
    publicHosts: resource === undefined ? [] : [new URL(resource).hostname],
    trustProxyHeaders: runConfig.trust_proxy_headers === true,
    [Symbol.dispose]: () => policies?.[Symbol.dispose](),
  };
}

/** Whether callers of a workload have to authenticate. */
export const isAuthenticated = (runConfig: RunConfig): boolean => requestedOidc(runConfig) !== undefined;

/** A workload's policies. The engine is loaded only if policies exist. */
export async function openPolicies(runConfig: RunConfig) {
  const config = await authzConfigOf(runConfig);
  if (config === undefined) return undefined;
  const { Policies } = await import('./policies.ts');
  return Policies.open(config);
}

async function authzConfigOf({ authz_config: config, authz_config_path: path }: RunConfig) {
  if (config) return config;
  if (!path) return undefined;
  const { readAuthzFile } = await import('./authz-file.ts');
  return readAuthzFile(path);
}

async function openAuthentication(
  runConfig: RunConfig,
  readSecret: ReadSecret,
): Promise<ProxyAccess | undefined> {
  checkTokenExchange(runConfig);
  const oidc = requestedOidc(runConfig);
  if (oidc === undefined) return undefined;
  const { issuer, jwks_url, introspection_url, resource_url, auth_token_file: tokenFile } = oidc;
  if (resource_url !== undefined) requireUrl(resource_url);
  const { openAccess } = await import('./access.ts');
  const check = openAccess({
    oidc: {
      issuer,
      // Tokens are bound to the resource that they are for (RFC 8707, section 2).
      audience: oidc.audience ?? resource_url ?? '',
      jwksUrl: jwks_url,
      introspectionUrl: introspection_url,
      clientId: oidc.client_id,
      clientSecret: oidc.client_secret && (await readSecret(parseReference(oidc.client_secret).name)),
      certificates:
        oidc.ca_bundle && (await checkField('/oidc/ca_bundle', () => readCertificates(oidc.ca_bundle ?? ''))),
      readAuthToken: tokenFile === undefined ? undefined : () => readToken(tokenFile),
      allowPrivate: oidc.allow_private_ip === true,
      allowHttp: oidc.insecure_allow_http === true,
    },
  });
  if (check === undefined) throw new Error('there is a provider, so there is a rule');
  const exchange = await openExchange(runConfig, readSecret);
  return {
    check,
    resource: {
      resource: resource_url,
      authorization_servers: issuer === undefined ? [] : [issuer],
      ...(jwks_url === undefined ? {} : { jwks_uri: jwks_url }),
    },
    scopes: oidc.scopes ?? [],
    toolScopes: oidc.tool_scopes ?? {},
    ...(exchange === undefined ? {} : { exchange }),
  };
}

/** Throws `invalid` for a token exchange without tokens, or with a server that cannot get any. */
function checkTokenExchange(runConfig: RunConfig): void {
  const { token_exchange_config: config, transport } = runConfig;
  if (!config) return;
  if (requestedOidc(runConfig) === undefined)
    throw invalidField('/token_exchange', 'tokens cannot be exchanged, because callers do not send any', {
      hint: 'configure an OpenID provider as well, or omit the token exchange',
    });
  if (transport === 'stdio')
    throw invalidField('/token_exchange', 'a stdio server cannot receive tokens', {
      hint: 'omit the token exchange, or use a server that speaks HTTP',
    });
}

async function openExchange(
  { token_exchange_config: config }: RunConfig,
  readSecret: ReadSecret,
): Promise<ProxyAccess['exchange']> {
  if (!config) return undefined;
  const { tokenExchange } = await import('./token-exchange.ts');
  const { client_secret: secret } = config;
  return tokenExchange({
    tokenUrl: config.token_url ?? '',
    clientId: config.client_id,
    clientSecret: secret && (await readSecret(parseReference(secret).name)),
    audience: config.audience,
    scopes: config.scopes ?? [],
    subjectTokenType: config.subject_token_type,
    header: config.external_token_header_name,
  });
}

async function readToken(path: string): Promise<string> {
  const bytes = await readBoundedFile(path, {
    maxBytes: maxTokenBytes,
    notAFile: () => invalid(`${path} is not a file`),
    tooLarge: () => invalid(`${path} is too large for a token file`),
  });
  return bytes.toString().trim();
}

function requireUrl(text: string): void {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isHttp || url.username !== '' || url.hash !== '' || /["\\]/.test(text)) {
    const message = `resource_url is not an http or https URL: ${JSON.stringify(text)}`;
    throw invalidField('/oidc/resource_url', message, {
      hint: 'use the URL that clients use, without a fragment (RFC 9728, section 1.2)',
    });
  }
}

/** The user who runs the daemon, with the claims that the original gives a caller without a token. */
function localUser(): Principal {
  const name = userName();
  return {
    id: '',
    claims: {
      sub: name,
      iss: 'toolhive-local',
      aud: 'toolhive',
      name: `Local User: ${name}`,
      email: `${name}@localhost`,
    },
  };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'local'; // the user has no entry in the system's list
  }
}
