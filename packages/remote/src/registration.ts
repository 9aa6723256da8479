import { clientName } from '@toolhive/contract/client-document';
import { ThvError, forbidden, invalid, unavailable } from '@toolhive/contract/failure';
import {
  ClientSecretPost,
  None,
  ResponseBodyError,
  dynamicClientRegistrationRequest,
  processDynamicClientRegistrationResponse,
} from 'oauth4webapi';
import type { ClientAuth } from 'oauth4webapi';
import type { AuthorizationServer } from './discovery.ts';
import type { Client } from './kept.ts';
import { explain } from './requests.ts';
import type { Requests } from './requests.ts';
import type { AuthSettings } from './settings.ts';
import { readingAnswer } from './web-page.ts';

export interface RegistrationOptions {
  server: AuthorizationServer;
  settings: AuthSettings;
  /** Where the document about this product is (OAuth Client ID Metadata Documents). */
  clientDocument: string | undefined;
  /** How we were known the last time. */
  known: Client | undefined;
}

const registerYourself =
  'register a client there with the redirect URL http://localhost:PORT/callback, and configure its client_id (--remote-auth-client-id) and the callback_port (--remote-auth-callback-port)';

/** How we are going to be known to an authorization server, in the order of the MCP specification. */
export function clientKind({ server, settings, clientDocument, known }: RegistrationOptions): Client['kind'] {
  if (settings.clientId !== undefined) {
    // What belongs to one authorization server is not shown to another that the remote server comes up with.
    if (known?.kind === 'configured' && known.id === settings.clientId && known.issuer !== server.issuer) {
      throw forbidden(`the client_id belongs to ${known.issuer}, and the server now names ${server.issuer}`, {
        hint: 'configure the issuer that the client is registered with',
      });
    }
    return 'configured';
  }
  if (clientDocument !== undefined && server.client_id_metadata_document_supported === true)
    return 'document';
  if (server.registration_endpoint !== undefined) return 'dynamic';
  throw invalid(`${server.issuer} does not support dynamic client registration`, {
    hint:
      server.client_id_metadata_document_supported === true
        ? 'configure the URL of a published client document as the client_id'
        : registerYourself,
  });
}

/** The stored registration, if it is valid for this server. */
export function stillRegistered({ server, known }: RegistrationOptions, nowMs: number): Client | undefined {
  if (known?.kind !== 'dynamic' || known.issuer !== server.issuer || known.isDoubtful) return undefined;
  return known.secretExpiresAtMs !== undefined && known.secretExpiresAtMs <= nowMs ? undefined : known;
}

interface Registration {
  redirectUri: string;
  scopes: readonly string[];
}

interface RegistrationCall {
  requests: Requests;
  signal: AbortSignal;
}

/** How often a refused registration is repeated in another form. */
const maxRepetitions = 3;

/**
 * Has the server register us (RFC 7591). Some servers refuse a registration for a single member instead of ignoring it, so a
 * refused registration is repeated in the forms that they accept.
 */
export async function register(
  server: AuthorizationServer,
  { redirectUri, scopes }: Registration,
  call: RegistrationCall,
): Promise<Client> {
  let metadata: ClientMetadata = {
    client_name: clientName,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authenticationAt(server, { hasSecret: false }),
    application_type: 'native',
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
  const left = new Set(forms);
  let first: unknown;
  for (let repetition = 0; ; repetition += 1) {
    try {
      return await registerWith(server, redirectUri, metadata, call);
    } catch (error) {
      call.signal.throwIfAborted();
      first ??= error; // the first answer is about what was wanted
      const form = repetition < maxRepetitions ? formFor(error, left) : undefined;
      const next = form?.change(metadata, server);
      if (form === undefined || next === undefined) throw refusalOf(first, server);
      left.delete(form);
      metadata = next;
    }
  }
}

/** Why the server does not register this client. Only the user can do something about an answer of OAuth. */
function refusalOf(error: unknown, server: AuthorizationServer): unknown {
  const reason = explain(error, notRegistered(server), { quote: true });
  const isAnswer = reason instanceof ThvError && reason.kind === 'forbidden';
  return isAnswer ? forbidden(reason.message, { hint: registerYourself, cause: reason }) : reason;
}

const notRegistered = ({ issuer }: AuthorizationServer): string => `${issuer} does not register this client`;

interface ClientMetadata {
  client_name: string;
  redirect_uris: string[];
  grant_types: string[];
  response_types: string[];
  token_endpoint_auth_method: string;
  application_type?: string;
  scope?: string;
}

/** Another form of a registration, for servers that refuse it with such words. */
interface Form {
  words: RegExp;
  /** Undefined if the registration already has this form. */
  change: (metadata: ClientMetadata, server: AuthorizationServer) => ClientMetadata | undefined;
}

/** Some servers accept only registrations without a scope, and some only with one. */
const otherScope: Form = {
  words: /scope/i,
  change({ scope, ...metadata }, { scopes_supported: supported = [] }) {
    if (scope !== undefined) return metadata;
    return supported.length === 0 ? undefined : { ...metadata, scope: supported.join(' ') };
  },
};

const forms: readonly Form[] = [
  otherScope,
  {
    words: /grant|refresh/i,
    change: (metadata) => ({ ...metadata, grant_types: ['authorization_code'] }),
  },
  {
    words: /auth_?method|public client|\bnone\b/i,
    change: (metadata, server) =>
      metadata.token_endpoint_auth_method === 'none'
        ? { ...metadata, token_endpoint_auth_method: authenticationAt(server, { hasSecret: true }) }
        : undefined,
  },
  { words: /application_?type/i, change: ({ application_type: _type, ...metadata }) => metadata },
];

/** The form that the words of a refusal ask for, or the one with another scope. */
function formFor(error: unknown, left: ReadonlySet<Form>): Form | undefined {
  if (!(error instanceof ResponseBodyError) || !refusals.has(error.error)) return undefined;
  const { error_description: description = '' } = error;
  return (
    [...left].find(({ words }) => words.test(description)) ?? [...left].find((form) => form === otherScope)
  );
}

/** Errors about a member of the registration. */
const refusals = new Set(['invalid_client_metadata', 'invalid_scope', 'invalid_request']);

async function registerWith(
  server: AuthorizationServer,
  redirectUri: string,
  metadata: ClientMetadata,
  { requests, signal }: RegistrationCall,
): Promise<Client> {
  const answer = await dynamicClientRegistrationRequest(server, { ...metadata }, requests.options(signal));
  const response = await asRequired(answer);
  const registered = await readingAnswer(response, notRegistered(server), () =>
    processDynamicClientRegistrationResponse(response),
  );
  const { client_id: id, client_secret_expires_at: expiresAt } = registered;
  const { client_secret: secret, token_endpoint_auth_method: authentication } = registered;
  return {
    issuer: server.issuer,
    kind: 'dynamic',
    id,
    redirectUri,
    ...(typeof secret === 'string' && secret !== '' && { secret }),
    ...(secret && typeof expiresAt === 'number' && expiresAt > 0 && { secretExpiresAtMs: expiresAt * 1000 }),
    ...(typeof authentication === 'string' && { authentication }),
  };
}

/**
 * Corrects a registration response to RFC 7591, section 3.2.1. Some servers respond with 200 instead of 201, and omit
 * `client_secret_expires_at` for a secret that does not expire.
 */
async function asRequired(answer: Response): Promise<Response> {
  if (answer.status !== 200 && answer.status !== 201) return answer;
  const registered: unknown = await answer
    .clone()
    .json()
    .catch(() => undefined);
  if (typeof registered !== 'object' || registered === null) return answer;
  const { client_secret_expires_at: expiresAt, client_id: id } = registered as Record<string, unknown>;
  const complete = {
    ...registered,
    ...(typeof id === 'number' && { client_id: String(id) }),
    client_secret_expires_at: Number(expiresAt) > 0 ? Number(expiresAt) : 0,
  };
  return new Response(JSON.stringify(complete), { status: 201, headers: answer.headers });
}

/**
 * The methods with which a client can authenticate at the token endpoint, in the order of the attempts. The metadata of some
 * servers and their registrations name a method that their token endpoint refuses.
 */
export function authenticationMethods(
  server: AuthorizationServer,
  client: Client,
  secret: string | undefined,
): [string, ...string[]] {
  const first = client.authentication ?? authenticationAt(server, { hasSecret: secret !== undefined });
  if (secret === undefined) return ['none'];
  return [first, ...withSecret.filter((method) => method !== first)];
}

const withSecret = ['client_secret_post', 'client_secret_basic'];

/** The authentication of a client with one of its methods. */
export function authenticationBy(
  method: string,
  server: AuthorizationServer,
  secret: string | undefined,
): ClientAuth {
  if (method === 'none' || secret === undefined) return None();
  if (method === 'client_secret_basic') return basic(secret);
  if (method === 'client_secret_post') return ClientSecretPost(secret);
  throw unavailable(
    `${server.issuer} requires the client authentication method ${JSON.stringify(method.slice(0, 40))}, which ToolHive does not support`,
  );
}

/** How a client authenticates at the token endpoint after its sign-in. */
export function authenticationOf(
  server: AuthorizationServer,
  client: Client,
  secret: string | undefined,
): ClientAuth {
  return authenticationBy(authenticationMethods(server, client, secret)[0], server, secret);
}

/**
 * HTTP Basic with the client ID and secret (RFC 6749, section 2.3.1). The library also encodes `-` and `_`, unlike
 * the form encoding, and many servers compare the secret without decoding it. The Python SDK of MCP looks for the client in
 * the form, too.
 */
function basic(secret: string): ClientAuth {
  return (_server, client, body, headers) => {
    body.set('client_id', client.client_id);
    const credentials = [client.client_id, secret].map(formEncoded).join(':');
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`);
  };
}

/** Encodes a value as `application/x-www-form-urlencoded`. */
function formEncoded(value: string): string {
  return new URLSearchParams({ value }).toString().slice('value='.length);
}

/**
 * Without a list, RFC 8414 defines `client_secret_basic` as the default. Clients without a secret can only use none.
 */
function authenticationAt(server: AuthorizationServer, { hasSecret }: { hasSecret: boolean }): string {
  const offered = server.token_endpoint_auth_methods_supported;
  const usable = hasSecret
    ? ['client_secret_basic', 'client_secret_post']
    : ['none', 'client_secret_basic', 'client_secret_post'];
  return usable.find((method) => offered?.includes(method)) ?? usable[0] ?? 'none';
}
