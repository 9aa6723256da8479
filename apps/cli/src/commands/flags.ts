import type { Argument, Flag } from '../command.ts';

/** The workload that a command is about. */
export const workload: Argument = {
  name: 'name',
  description: 'The name of the workload',
  required: true,
  completes: 'workload',
};

/** Only what is in a group. */
export const group: Flag = {
  name: 'group',
  kind: 'string',
  value: 'GROUP',
  description: 'Only workloads of this group',
  completes: 'group',
};

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
    description: 'Whom those tokens must be meant for; asked for with every other --oidc flag',
  },
  {
    name: 'oidc-jwks-url',
    kind: 'string',
    value: 'URL',
    description: 'Where the keys of the provider are; the issuer knows',
  },
  {
    name: 'oidc-introspection-url',
    kind: 'string',
    value: 'URL',
    description: 'Where tokens that are no JWTs are looked up',
  },
  { name: 'oidc-client-id', kind: 'string', value: 'ID', description: 'As whom they are looked up' },
  {
    name: 'oidc-client-secret',
    kind: 'string',
    value: 'SECRET',
    description: 'The secret of that client; better in TOOLHIVE_OIDC_CLIENT_SECRET, which nobody sees',
  },
]);

/** How to sign in to a remote server. `run` and `proxy` take them. */
export const remoteAuthFlags: readonly Flag[] = inSection('Remote authentication', [
  {
    name: 'remote-auth',
    kind: 'boolean',
    description: 'Sign in; that is done anyway when the server asks for it',
  },
  {
    name: 'remote-auth-issuer',
    kind: 'string',
    value: 'URL',
    description: 'The authorization server; the remote server usually names it',
  },
  {
    name: 'remote-auth-authorize-url',
    kind: 'string',
    value: 'URL',
    description: 'Where a person signs in, when the issuer does not say',
  },
  {
    name: 'remote-auth-token-url',
    kind: 'string',
    value: 'URL',
    description: 'Where tokens come from, when the issuer does not say',
  },
  {
    name: 'remote-auth-client-id',
    kind: 'string',
    value: 'ID',
    description: 'As which client to sign in; one is registered when absent',
  },
  {
    name: 'remote-auth-client-secret',
    kind: 'string',
    value: 'SECRET',
    description: 'The secret of that client; better in a file, as others see the command line',
  },
  {
    name: 'remote-auth-client-secret-file',
    kind: 'string',
    value: 'FILE',
    description: 'A file with the secret of that client',
    completes: 'file',
  },
  { name: 'remote-auth-scopes', kind: 'words', value: 'SCOPE', description: 'What to ask permission for' },
  {
    name: 'remote-auth-skip-browser',
    kind: 'boolean',
    description: 'Print the address to sign in at instead of opening a browser',
  },
  {
    name: 'remote-auth-callback-port',
    kind: 'integer',
    value: 'PORT',
    description: 'Where the browser comes back to on this machine; 0 is any free port',
    default: 0,
  },
  {
    name: 'remote-auth-timeout',
    kind: 'duration',
    value: 'TIME',
    description: 'How long to wait for somebody to sign in',
    default: '5m',
  },
]);

/** How to trade a caller's token for one that the server behind takes (RFC 8693). `run` and `proxy` take them. */
export const tokenExchangeFlags: readonly Flag[] = inSection('Token exchange (RFC 8693)', [
  { name: 'token-exchange-url', kind: 'string', value: 'URL', description: 'Where tokens are traded' },
  {
    name: 'token-exchange-audience',
    kind: 'string',
    value: 'NAME',
    description: 'Whom the new token is meant for',
  },
  { name: 'token-exchange-client-id', kind: 'string', value: 'ID', description: 'Who trades' },
  {
    name: 'token-exchange-client-secret',
    kind: 'string',
    value: 'SECRET',
    description: 'The secret of that client; better in a file, as others see the command line',
  },
  {
    name: 'token-exchange-client-secret-file',
    kind: 'string',
    value: 'FILE',
    description: 'A file with the secret of that client',
    completes: 'file',
  },
  {
    name: 'token-exchange-header-name',
    kind: 'string',
    value: 'HEADER',
    description: 'The header for the new token; Authorization when absent',
  },
  { name: 'token-exchange-scopes', kind: 'words', value: 'SCOPE', description: 'What to ask permission for' },
  {
    name: 'token-exchange-subject-token-type',
    kind: 'string',
    value: 'TYPE',
    choices: ['access_token', 'id_token'],
    description: 'What kind of token the caller sends',
  },
]);

/** The URL of what is protected, told to callers (RFC 9728). `run` and `proxy` take it. */
export const resourceUrl: Flag = {
  name: 'resource-url',
  kind: 'string',
  value: 'URL',
  description: 'What the tokens are for, as told to callers who have none (RFC 9728)',
  section: 'Client authentication',
};

/** The same flags under a heading of their own. */
export function inSection(section: string, flags: readonly Flag[]): Flag[] {
  return flags.map((flag) => ({ ...flag, section }));
}
