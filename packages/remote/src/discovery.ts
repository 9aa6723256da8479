import { ThvError, forbidden, unavailable } from '@toolhive/contract/failure';
import { processDiscoveryResponse, processResourceDiscoveryResponse } from 'oauth4webapi';
import * as z from 'zod';
import type { Challenge } from './challenge.ts';
import { explain } from './requests.ts';
import type { Requests } from './requests.ts';
import type { AuthSettings } from './settings.ts';
import { nameOf, slashless } from './urls.ts';

export interface DiscoveryOptions {
  serverUrl: URL;
  settings: AuthSettings;
  requests: Requests;
  signal: AbortSignal;
  /** Hears of addresses without metadata that return something else than that it is missing. */
  onOther?: (found: string) => void;
}

/** Who gives tokens for a remote server, and for what. */
export interface Authority {
  server: AuthorizationServer;
  /** How the remote server is called there (RFC 8707). Empty if the authorization server knows no names. */
  resource: string;
  /** The scopes that the remote server names. */
  scopes: readonly string[] | undefined;
}

/** Finds the authorization server of a server. The user's configuration overrides the server's metadata. */
export async function discover(options: DiscoveryOptions, challenge: Challenge): Promise<Authority> {
  const found: string[] = [];
  try {
    return await findAuthority({ ...options, onOther: (each) => found.push(each) }, challenge);
  } catch (error) {
    const isMissing =
      error instanceof ThvError && error.kind === 'unavailable' && error.hint === configureIssuer;
    const [first] = found;
    if (!isMissing || first === undefined) throw error;
    throw unavailable(`${error.message} (${first})`, { hint: configureIssuer, cause: error });
  }
}

async function findAuthority(options: DiscoveryOptions, challenge: Challenge): Promise<Authority> {
  const { serverUrl, settings } = options;
  const isConfigured = settings.issuer !== undefined || settings.endpoints !== undefined;
  const described = await describeResource(options, challenge).catch((error: unknown) => {
    if (!isConfigured || options.signal.aborted) throw error;
    return undefined; // the metadata could only repeat the user's configuration
  });
  const server = isConfigured
    ? await findServer(options, settings.issuer, provenOwnServer)
    : await firstServer(options, described?.authorization_servers ?? (await itself(options, challenge)));
  return {
    server,
    resource: settings.resource ?? described?.resource ?? canonical(serverUrl),
    scopes: described?.scopes_supported,
  };
}

/**
 * A server without resource metadata is its own authorization server, as in 2025-03-26. If it names metadata that does not
 * exist, only its own description as an authorization server proves that.
 */
async function itself(options: DiscoveryOptions, { resourceMetadata }: Challenge): Promise<string[]> {
  const { origin } = options.serverUrl;
  if (resourceMetadata !== undefined && (await lookUpServer(options, new URL(origin))) === undefined)
    throw unavailable('the resource metadata of the server was not found', { hint: configureIssuer });
  return [origin];
}

/** An optional member with a value that it cannot have is missing, because most servers are used without it. */
const text = z.string().optional().catch(undefined);
/** Some servers write a list as one text, as `scope` is written elsewhere. */
const texts = z
  .preprocess(
    (value) => (typeof value === 'string' ? value.split(/[\s,]+/).filter(Boolean) : value),
    z.array(z.string()).optional(),
  )
  .catch(undefined);
const flag = z
  .preprocess(
    (value) => (typeof value === 'string' ? value.toLowerCase() === 'true' : value),
    z.boolean().optional(),
  )
  .catch(undefined);

/** What a remote server says about itself (RFC 9728). */
const ProtectedResource = z
  .object({ resource: z.string().optional(), authorization_servers: texts, scopes_supported: texts })
  .refine(
    ({ resource, authorization_servers: servers = [] }) => resource !== undefined || servers.length > 0,
    {
      path: ['resource'], // without both, it is another document
    },
  );
/** The same, with the resource. */
type ProtectedResource = z.infer<typeof ProtectedResource> & { resource: string };

/** What an authorization server says about itself (RFC 8414, OpenID Connect Discovery). */
const AuthorizationServer = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: text,
  scopes_supported: texts,
  code_challenge_methods_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  authorization_response_iss_parameter_supported: flag,
  client_id_metadata_document_supported: flag,
});
export type AuthorizationServer = z.infer<typeof AuthorizationServer>;

const resourcePath = '/.well-known/oauth-protected-resource';

/**
 * The document that the challenge names, or else the well-known ones. An address in a challenge is often relative, of another
 * environment, or gone, while the well-known document is right.
 */
async function describeResource(
  options: DiscoveryOptions,
  { resourceMetadata }: Challenge,
): Promise<ProtectedResource | undefined> {
  const { serverUrl } = options;
  const named = resourceMetadata === undefined ? [] : [absolute(resourceMetadata, serverUrl)];
  const wellKnown = [
    withPath(serverUrl, `${resourcePath}${slashless(serverUrl.pathname)}`),
    withPath(serverUrl, resourcePath),
  ];
  const failures: unknown[] = [];
  for (const address of new Set([...named, ...wellKnown])) {
    try {
      const described = await resourceAt(address, options);
      if (described !== undefined) return described;
    } catch (error) {
      options.signal.throwIfAborted();
      failures.push(error); // the next document may be right
    }
  }
  if (failures.length > 0) throw failures[0];
  return undefined;
}

/** The address in a challenge, which may be relative to the server or have further quotes. */
function absolute(address: string, serverUrl: URL): string {
  const bare = address.trim().replace(/^['"<]{1,2}|['">]{1,2}$/g, '');
  return URL.parse(bare, serverUrl.href)?.href ?? bare;
}

async function resourceAt(
  address: string,
  options: DiscoveryOptions,
): Promise<ProtectedResource | undefined> {
  const { serverUrl } = options;
  const response = await metadataAt(address, 'the resource metadata', options);
  if (response === undefined) return undefined;
  return checkResource(await parsed(ProtectedResource, response, address), { response, address, serverUrl });
}

async function metadataAt(
  address: string,
  what: string,
  { requests, signal, onOther }: DiscoveryOptions,
): Promise<Response | undefined> {
  const answer = await requests.metadata(address, what, signal);
  if ('response' in answer) return answer.response;
  if (!/^status (?:404|405|410)\b/.test(answer.instead))
    onOther?.(`${nameOf(new URL(address))} returned ${answer.instead}`);
  return undefined;
}

async function checkResource(
  { resource: named, ...rest }: z.infer<typeof ProtectedResource>,
  { response, address, serverUrl }: { response: Response; address: string; serverUrl: URL },
): Promise<ProtectedResource> {
  const location = new URL(address);
  const described = { ...rest, resource: named ?? canonical(serverUrl) };
  const resource = URL.parse(described.resource);
  const isOwn = location.origin === serverUrl.origin && location.pathname.startsWith(resourcePath);
  if (resource === null || !isFor(resource, serverUrl, isOwn) || (named === undefined && !isOwn)) {
    throw forbidden(`the resource metadata at ${nameOf(location)} is for another server`, {
      hint: configureIssuer,
    });
  }
  if (named !== undefined) await processResourceDiscoveryResponse(resource, response);
  if (described.authorization_servers?.length === 0)
    return { ...described, authorization_servers: undefined };
  return described;
}

/**
 * Whether metadata describes this server. Metadata for more than the server's URL must come from the server's own
 * well-known URL (`isOwn`), because the owner of a single path on a host does not control the whole host. There, a server
 * behind a proxy that ends TLS often names itself with the wrong scheme.
 */
function isFor(resource: URL, serverUrl: URL, isOwn: boolean): boolean {
  const isSame = resource.origin === serverUrl.origin || (isOwn && isOtherScheme(resource, serverUrl));
  if (!isSame || resource.hash !== '') return false;
  const [path, whole] = [slashless(resource.pathname), slashless(serverUrl.pathname)];
  if (path === whole) return resource.search === serverUrl.search || resource.search === '';
  return isOwn && resource.search === '' && whole.startsWith(`${path}/`);
}

function isOtherScheme(one: URL, other: URL): boolean {
  return /^https?:$/.test(one.protocol) && one.hostname === other.hostname && one.port === other.port;
}

const maxServers = 5;

/** The first source with the required metadata. If none has it, the first source's error. */
async function firstServer(
  options: DiscoveryOptions,
  issuers: readonly string[],
): Promise<AuthorizationServer> {
  const failures: unknown[] = [];
  for (const issuer of issuers.slice(0, maxServers)) {
    try {
      return await findServer(options, issuer, provenOwnServer);
    } catch (error) {
      options.signal.throwIfAborted();
      failures.push(error);
    }
  }
  throw failures[0];
}

/**
 * An authorization server by its issuer, from the settings or from its metadata. `own` returns the one at the default paths
 * of a remote server without metadata.
 */
export async function findServer(
  options: DiscoveryOptions,
  issuer: string | undefined,
  own: (origin: string, options: DiscoveryOptions) => Promise<AuthorizationServer> = async (origin) =>
    ownServer(origin),
): Promise<AuthorizationServer> {
  const { settings, requests, serverUrl } = options;
  if (settings.endpoints !== undefined) {
    requests.check(settings.endpoints.authorize, 'the authorization endpoint');
    requests.check(settings.endpoints.token, 'the token endpoint');
    return configuredServer(settings.endpoints, issuer);
  }
  const url = requests.check(issuerIn(issuer ?? ''), 'the authorization server');
  const server = await lookUpServer(options, url);
  if (server !== undefined) return server;
  const host = settings.issuer === undefined ? await lookUpHost(options, url) : undefined;
  if (host !== undefined) return host;
  if (issuer === serverUrl.origin) return own(issuer, options);
  throw unavailable(`${nameOf(url)} does not describe how to get a token`, { hint: configureIssuer });
}

const wellKnownServer = /^(.*?)\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/.*)?$/;

/** The issuer. Users and servers often write its metadata address instead. */
function issuerIn(text: string): string {
  const url = URL.parse(text);
  const [, before, behind] = wellKnownServer.exec(url?.pathname ?? '') ?? [];
  return url === null || before === undefined ? text : `${url.origin}${behind ?? before}`;
}

/** Servers name their endpoint as the issuer, whose metadata is that of their host, which must confirm itself. */
async function lookUpHost(options: DiscoveryOptions, url: URL): Promise<AuthorizationServer | undefined> {
  if (slashless(url.pathname) === '') return undefined;
  return (await readMetadata(options, new URL(url.origin))).server;
}

/**
 * A server of 2025-03-26 may be its own authorization server, with default paths if it has no metadata (MCP
 * 2025-03-26, Authorization).
 */
function ownServer(origin: string): AuthorizationServer {
  return AuthorizationServer.parse({
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'], // OAuth 2.1 requires PKCE, and no metadata could confirm it
  });
}

/** Statuses that no page for a sign-in has, even without its parameters. */
const missing = new Set([404, 405, 410, 501]);

/** The same, if its page for the sign-in exists. Users must not be sent to a page that shows an error. */
async function provenOwnServer(
  origin: string,
  { requests, signal }: DiscoveryOptions,
): Promise<AuthorizationServer> {
  const server = ownServer(origin);
  const page = await requests.page(server.authorization_endpoint, 'the authorization endpoint', signal);
  if (page !== undefined && !missing.has(page.status)) return server;
  throw unavailable(
    `${origin} does not describe how to get a token, and has no page ${server.authorization_endpoint}`,
    { hint: configureIssuer },
  );
}

/** Returns an authorization server's metadata. Returns undefined if it has none. */
async function lookUpServer(options: DiscoveryOptions, url: URL): Promise<AuthorizationServer | undefined> {
  const { server, others } = await readMetadata(options, url);
  if (server !== undefined) return server;
  const [other] = others;
  if (other === undefined) return undefined;
  return (await confirmed(options, other.issuer)) ?? Promise.reject(other.error);
}

/** Metadata that names another issuer than the one whose metadata it should be. */
interface OtherIssuer {
  issuer: string;
  error: unknown;
}

/** Reads the well-known documents of an issuer until one is its own. */
async function readMetadata(
  options: DiscoveryOptions,
  url: URL,
): Promise<{ server?: AuthorizationServer; others: OtherIssuer[] }> {
  const others: OtherIssuer[] = [];
  const failures: unknown[] = [];
  const { requests } = options;
  for (const address of serverAddresses(url)) {
    const response = await metadataAt(address, 'the metadata of the authorization server', options);
    if (response === undefined) continue;
    const described = await parsed(AuthorizationServer, response, address).catch((error: unknown) => {
      failures.push(error); // the document of the other standard may be complete
    });
    if (described === undefined) continue;
    const server = withWholeUrls(described, address);
    if (isForAllTenants(server.issuer, url))
      return { server: { ...checked(server, requests), issuer: url.href }, others };
    try {
      await processDiscoveryResponse(url, response);
    } catch (error) {
      const explained = explain(error, `the metadata at ${nameOf(new URL(address))} cannot be used`);
      if (URL.parse(server.issuer)?.href === url.href) throw explained;
      others.push({ issuer: server.issuer, error: explained });
      continue;
    }
    return { server: checked(server, requests), others };
  }
  if (others.length === 0 && failures.length > 0) throw failures[0];
  return { others };
}

function checked(server: AuthorizationServer, requests: Requests): AuthorizationServer {
  requests.check(server.authorization_endpoint, 'the authorization endpoint');
  requests.check(server.token_endpoint, 'the token endpoint');
  return server;
}

/** Entra ID writes a template as the issuer for all tenants: only the tokens contain the tenant. */
function isForAllTenants(issuer: string, url: URL): boolean {
  const [start, end, ...more] = issuer.split('{tenantid}');
  if (start === undefined || end === undefined || more.length > 0 || URL.parse(start)?.origin !== url.origin)
    return false;
  const tenant = url.href.slice(start.length, end === '' ? undefined : -end.length);
  return /^[\w.-]+$/.test(tenant) && url.href === `${start}${tenant}${end}`;
}

/** Endpoints may be relative to the document. */
function withWholeUrls(server: AuthorizationServer, address: string): AuthorizationServer {
  const whole = (endpoint: string): string => URL.parse(endpoint, address)?.href ?? endpoint;
  const {
    authorization_endpoint: authorize,
    token_endpoint: token,
    registration_endpoint: register,
  } = server;
  return {
    ...server,
    authorization_endpoint: whole(authorize),
    token_endpoint: whole(token),
    registration_endpoint: register === undefined ? undefined : whole(register),
  };
}

/**
 * The metadata of an issuer that another server's metadata names, as behind a custom domain or with a slash at the end. Only
 * the issuer's own metadata counts, so no server can pass itself off as another one (RFC 8414, section 6.2).
 */
async function confirmed(
  options: DiscoveryOptions,
  issuer: string,
): Promise<AuthorizationServer | undefined> {
  try {
    return (await readMetadata(options, options.requests.check(issuer, 'the authorization server'))).server;
  } catch {
    options.signal.throwIfAborted();
    return undefined;
  }
}

/**
 * Refuses the code of an authorization server whose tokens come from another endpoint. A registry entry could otherwise combine an
 * honest sign-in page with its own token endpoint, and get the user's tokens (RFC 9700, section 4.4).
 */
export async function requireTokensFrom(
  endpoint: string,
  issuer: string,
  options: DiscoveryOptions,
): Promise<void> {
  const url = options.requests.check(issuer, 'the issuer in the answer of the browser');
  const tokens = new URL(endpoint);
  if (tokens.origin === url.origin) return;
  const { server } = await readMetadata(options, url);
  if (server !== undefined && new URL(server.token_endpoint).href === tokens.href) return;
  throw forbidden(
    `the sign-in page belongs to ${nameOf(url)}, and the token endpoint ${nameOf(tokens)} does not`,
    { hint: 'if you trust the token endpoint, configure the authorize_url and the token_url yourself' },
  );
}

const configureIssuer = 'configure the issuer, or its authorize_url and token_url';

/** An authorization server without metadata. PKCE support is unknown, so PKCE is used anyway. */
function configuredServer(
  endpoints: NonNullable<AuthSettings['endpoints']>,
  issuer?: string,
): AuthorizationServer {
  return AuthorizationServer.parse({
    issuer: issuer ?? new URL(endpoints.token).origin,
    authorization_endpoint: endpoints.authorize,
    token_endpoint: endpoints.token,
    code_challenge_methods_supported: ['S256'],
  });
}

/** In the order of the MCP specification. */
function serverAddresses(issuer: URL): string[] {
  const path = slashless(issuer.pathname);
  const oauth = withPath(issuer, `/.well-known/oauth-authorization-server${path}`);
  const inserted = withPath(issuer, `/.well-known/openid-configuration${path}`);
  return path === ''
    ? [oauth, inserted]
    : [oauth, inserted, withPath(issuer, `${path}/.well-known/openid-configuration`)];
}

async function parsed<Schema extends z.ZodType>(
  schema: Schema,
  response: Response,
  address: string,
): Promise<z.infer<Schema>> {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const field = result.error.issues[0]?.path.join('.') || 'its JSON';
  throw unavailable(`invalid metadata at ${nameOf(new URL(address))}: ${field}`);
}

/** The identifier of a server without its own, in the form that the MCP specification requires. */
function canonical(serverUrl: URL): string {
  const { href, search, pathname } = serverUrl;
  return pathname === '/' && search === '' ? slashless(href) : href;
}

function withPath(url: URL, path: string): string {
  return `${url.origin}${path}`;
}
