import type { RunConfig } from '@toolhive/contract/run-config';
import type { CreateWorkload } from '@toolhive/contract/workload';

type StoredOidc = NonNullable<RunConfig['oidc_config']>;
export type RequestedOidc = NonNullable<CreateWorkload['oidc']>;

/** Which member of a run config each member of a request is stored as. */
const storedNames = {
  issuer: 'Issuer',
  audience: 'Audience',
  client_id: 'ClientID',
  client_secret: 'ClientSecret',
  introspection_url: 'IntrospectionURL',
  jwks_url: 'JWKSURL',
  resource_url: 'ResourceURL',
  ca_bundle: 'CACertPath',
  auth_token_file: 'AuthTokenFile',
  allow_private_ip: 'AllowPrivateIP',
  insecure_allow_http: 'InsecureAllowHTTP',
  scopes: 'Scopes',
  tool_scopes: 'ToolScopes',
} as const satisfies Record<keyof RequestedOidc, string>;

/** Writes the OIDC settings of a request as the original stores them. Undefined if there are none. */
export function storedOidc(asked: RequestedOidc | null | undefined): StoredOidc | undefined {
  const members = Object.entries(storedNames).flatMap(([name, stored]) => {
    const value = asked?.[name as keyof RequestedOidc];
    return isEmpty(value) ? [] : [[stored, value]];
  });
  return members.length === 0 ? undefined : (Object.fromEntries(members) as StoredOidc);
}

/** Reads the OIDC settings of a run config. The case of names is ignored. Undefined if there are none. */
export function requestedOidc({
  oidc_config: stored,
  thv_ca_bundle: bundle,
  jwks_auth_token_file: tokenFile,
}: RunConfig): RequestedOidc | undefined {
  if (stored === undefined || stored === null) return undefined;
  const folded = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  const members = Object.entries(storedNames).flatMap(([name, storedName]) => {
    const value = folded.get(storedName.toLowerCase());
    return isEmpty(value) ? [] : [[name, value]];
  });
  if (members.length === 0) return undefined;
  return {
    ...(bundle ? { ca_bundle: bundle } : {}),
    ...(tokenFile ? { auth_token_file: tokenFile } : {}),
    ...(Object.fromEntries(members) as RequestedOidc),
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === false;
}
