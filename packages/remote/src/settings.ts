import { invalid, invalidField } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import { parseReference } from '@toolhive/secrets/reference';
import { isSafe, parseUrl } from './urls.ts';

/** What a run config says about signing in to a remote server. */
export type RemoteAuthConfig = NonNullable<RunConfig['remote_auth_config']>;

/** The same, checked. */
export interface AuthSettings {
  issuer?: string;
  /** Instead of asking the issuer where they are. */
  endpoints?: { authorize: string; token: string };
  clientId?: string;
  /** The name of the secret that holds the secret of the client. */
  clientSecret?: string;
  /** The name of the secret that holds a token for every request. Then no sign-in is needed. */
  bearerToken?: string;
  scopes?: readonly string[];
  /** The resource that tokens are for, in place of the server's own statement. Empty to request none. */
  resource?: string;
  /** More for the page where the user agrees. */
  parameters: Readonly<Record<string, string>>;
  skipBrowser: boolean;
  /** 0 takes any that is free. */
  callbackPort: number;
  limitMs: number;
}

/** How long a user may take in the browser. */
const defaultLimitMs = 5 * 60_000;
const maxLimitMs = 60 * 60_000;

/** What the flow itself decides, for its safety. `use_pkce` is not among the settings for the same reason. */
const reserved = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

/** Reads the settings, or throws `invalid` for the first that makes no sense. */
export function readSettings(config: RemoteAuthConfig): AuthSettings {
  if (config.client_secret_file) {
    throw invalid(
      `a run config cannot make ToolHive read the client secret in ${config.client_secret_file}`,
      {
        hint: 'remove client_secret_file, and run the server with --remote-auth-client-secret-file instead',
      },
    );
  }
  if (config['bearer_token_file']) {
    throw invalidField(
      '/oauth_config/bearer_token_file',
      'a run config cannot make ToolHive read a token in a file',
      {
        hint: 'store the token as a secret, and use bearer_token',
      },
    );
  }
  const bearerToken = config.bearer_token ? parseReference(config.bearer_token).name : undefined;
  const clientSecret = config.client_secret ? parseReference(config.client_secret).name : undefined;
  if (clientSecret !== undefined && !config.client_id) {
    throw invalidField('/oauth_config', 'an OAuth client secret requires a client_id');
  }
  const issuer = config.issuer ? safeUrl(config.issuer, 'issuer') : undefined;
  const endpoints = endpointsOf(config);
  return {
    ...(issuer && { issuer }),
    ...(endpoints && { endpoints }),
    ...(config.client_id && { clientId: config.client_id }),
    ...(clientSecret && { clientSecret }),
    ...(bearerToken && { bearerToken }),
    ...(config.scopes?.length && { scopes: config.scopes }),
    ...(config.resource && { resource: resourceOf(config.resource) }),
    parameters: parametersOf(config),
    skipBrowser: config.skip_browser ?? false,
    callbackPort: config.callback_port ?? 0,
    limitMs: config.timeout === undefined ? defaultLimitMs : limitOf(config.timeout),
  };
}

function endpointsOf(config: RemoteAuthConfig): AuthSettings['endpoints'] {
  const { authorize_url: authorize, token_url: token } = config;
  if (!authorize && !token) return undefined;
  if (!authorize || !token)
    throw invalidField('/oauth_config', 'authorize_url and token_url must be set together');
  if (!config.client_id)
    throw invalidField('/oauth_config', 'authorize_url and token_url require a client_id');
  return { authorize: safeUrl(authorize, 'authorize_url'), token: safeUrl(token, 'token_url') };
}

function safeUrl(text: string, field: string): string {
  const url = parseUrl(text);
  if (url !== undefined && isSafe(url)) return text;
  throw invalidField(`/oauth_config/${field}`, `${field} is not an https URL`, {
    hint: 'plain http is allowed only for addresses on this machine',
  });
}

/** A resource indicator is an absolute URI without a fragment (RFC 8707, section 2). */
function resourceOf(text: string): string {
  if (text.toLowerCase() === 'none') return '';
  const url = URL.parse(text);
  if (url !== null && url.hash === '' && !/\s/.test(text)) return text;
  throw invalidField('/oauth_config/resource', 'resource is not an absolute URI without a fragment', {
    hint: 'use none for an authorization server that does not support resource indicators',
  });
}

function parametersOf({ oauth_params: parameters }: RemoteAuthConfig): Record<string, string> {
  const taken = Object.keys(parameters ?? {}).find((name) => reserved.has(name.toLowerCase()));
  if (taken !== undefined) throw invalid(`oauth_params cannot set ${taken}`);
  return { ...parameters };
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** In the original's format: `1h30m`, `30s`, or nanoseconds. */
function limitOf(timeout: string | number): number {
  const parts = typeof timeout === 'string' ? [...timeout.matchAll(/([\d.]+)(ms|h|m|s)/g)] : [];
  const isWhole = parts.map(([part]) => part).join('') === timeout;
  const fromParts = isWhole
    ? parts.reduce((sum, [, n, unit = '']) => sum + Number(n) * (unitsMs[unit] ?? 0), 0)
    : 0;
  const limitMs = typeof timeout === 'number' ? timeout / 1e6 : fromParts;
  if (limitMs > 0) return Math.min(Math.max(limitMs, 1), maxLimitMs);
  throw invalidField('/oauth_config/timeout', 'the sign-in timeout is not a duration', {
    hint: 'use a duration such as 5m',
  });
}
