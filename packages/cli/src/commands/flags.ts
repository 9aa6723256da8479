import type { Argument, Flag } from '../command.ts';

/** The workload that a command is about. */
export const workload: Argument = {
  name: 'name',
  description: 'The name of the workload',
  required: true,
  completes: 'workload',
};

/** The flag that limits a command to one group. */
export const group: Flag = {
  name: 'group',
  kind: 'string',
  value: 'GROUP',
  description: 'Only workloads of this group',
  completes: 'group',
};

/** The flags that limit a list to a time. `items` is the plural for their descriptions. */
export const timeFlags = (items: string): readonly Flag[] => [
  {
    name: 'since',
    kind: 'string',
    value: 'TIME',
    description: `Only ${items} from this time on: 2026-01-31T09:00:00Z, or a duration before now such as 2h`,
  },
  {
    name: 'until',
    kind: 'string',
    value: 'TIME',
    description: `Only ${items} before this time, written like --since`,
  },
];

/** The flag that limits a list to a text. `items` says which items contain the text, in the plural. */
export const searchFlag = (items: string): Flag => ({
  name: 'search',
  kind: 'string',
  value: 'TEXT',
  description: `Only ${items} this text, in any letter case`,
});

/** Whose tokens callers have to send. `serve`, `run` and `proxy` take them. */
export const oidcFlags: readonly Flag[] = inSection('Client authentication', [
  {
    name: 'oidc-issuer',
    kind: 'string',
    value: 'URL',
    description: 'Accept the tokens of this OpenID provider',
  },
  {
    name: 'oidc-audience',
    kind: 'string',
    value: 'NAME',
    description: 'The required audience of tokens. Required with the other --oidc flags',
  },
  {
    name: 'oidc-jwks-url',
    kind: 'string',
    value: 'URL',
    description: 'The URL of the signing keys, if the issuer does not publish it',
  },
  {
    name: 'oidc-introspection-url',
    kind: 'string',
    value: 'URL',
    description: 'The introspection URL for opaque tokens',
  },
  { name: 'oidc-client-id', kind: 'string', value: 'ID', description: 'Client ID for token introspection' },
  {
    name: 'oidc-client-secret',
    kind: 'string',
    value: 'SECRET',
    description:
      'Client secret for token introspection. Prefer TOOLHIVE_OIDC_CLIENT_SECRET, which is not visible to other users',
  },
]);

/** How to sign in to a remote server. `run` and `proxy` take them. */
export const remoteAuthFlags: readonly Flag[] = inSection('Remote authentication', [
  {
    name: 'remote-auth',
    kind: 'boolean',
    description: 'Sign in first. Without this flag, ToolHive signs in when the server requires it',
  },
  {
    name: 'remote-auth-issuer',
    kind: 'string',
    value: 'URL',
    description: 'The authorization server, if the remote server does not name it',
  },
  {
    name: 'remote-auth-authorize-url',
    kind: 'string',
    value: 'URL',
    description: 'The authorization endpoint, if the issuer does not publish it',
  },
  {
    name: 'remote-auth-token-url',
    kind: 'string',
    value: 'URL',
    description: 'The token endpoint, if the issuer does not publish it',
  },
  {
    name: 'remote-auth-client-id',
    kind: 'string',
    value: 'ID',
    description: 'The OAuth client ID. Without it, ToolHive registers a client',
  },
  {
    name: 'remote-auth-client-secret',
    kind: 'string',
    value: 'SECRET',
    description: 'The OAuth client secret. Prefer a file, because other users can see command lines',
  },
  {
    name: 'remote-auth-client-secret-file',
    kind: 'string',
    value: 'FILE',
    description: 'A file with the client secret',
    completes: 'file',
  },
  { name: 'remote-auth-scopes', kind: 'words', value: 'SCOPE', description: 'An OAuth scope to request' },
  {
    name: 'remote-auth-resource',
    kind: 'string',
    value: 'URI',
    description:
      'The resource indicator to request a token for, or none if the authorization server does not support resource indicators',
  },
  {
    name: 'remote-auth-skip-browser',
    kind: 'boolean',
    description: 'Print the sign-in URL instead of opening a browser',
  },
  {
    name: 'remote-auth-callback-port',
    kind: 'integer',
    value: 'PORT',
    description: "The local port for the browser's redirect. 0 selects a free port",
    default: 0,
  },
  {
    name: 'remote-auth-timeout',
    kind: 'duration',
    value: 'TIME',
    description: 'The time limit for the sign-in',
    default: '5m',
  },
]);

/** How to trade a caller's token for one that the server behind takes (RFC 8693). `run` and `proxy` take them. */
export const tokenExchangeFlags: readonly Flag[] = inSection('Token exchange (RFC 8693)', [
  { name: 'token-exchange-url', kind: 'string', value: 'URL', description: 'The token exchange endpoint' },
  {
    name: 'token-exchange-audience',
    kind: 'string',
    value: 'NAME',
    description: 'The audience of the new token',
  },
  {
    name: 'token-exchange-client-id',
    kind: 'string',
    value: 'ID',
    description: 'The client ID for the token exchange',
  },
  {
    name: 'token-exchange-client-secret',
    kind: 'string',
    value: 'SECRET',
    description:
      'The client secret for the token exchange. Prefer a file, because other users can see command lines',
  },
  {
    name: 'token-exchange-client-secret-file',
    kind: 'string',
    value: 'FILE',
    description: 'A file with the client secret',
    completes: 'file',
  },
  {
    name: 'token-exchange-header-name',
    kind: 'string',
    value: 'HEADER',
    description: 'The header for the new token, instead of Authorization',
  },
  { name: 'token-exchange-scopes', kind: 'words', value: 'SCOPE', description: 'An OAuth scope to request' },
  {
    name: 'token-exchange-subject-token-type',
    kind: 'string',
    value: 'TYPE',
    choices: ['access_token', 'id_token'],
    description: 'The type of the token that callers send',
  },
]);

/** The resource URL that callers receive (RFC 9728). `run` and `proxy` take this flag. */
export const resourceUrl: Flag = {
  name: 'resource-url',
  kind: 'string',
  value: 'URL',
  description: 'The resource URL in the protected resource metadata (RFC 9728)',
  section: 'Client authentication',
};

/** The same flags under a separate heading. */
export function inSection(section: string, flags: readonly Flag[]): Flag[] {
  return flags.map((flag) => ({ ...flag, section }));
}
