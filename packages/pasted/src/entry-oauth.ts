import * as z from 'zod';
import { Text } from './entry-values.ts';
import { isObject } from './parse-document.ts';

/** The client that is registered where the user signs in. */
export interface OAuthSettings {
  clientId?: string | undefined;
  callbackPort?: number | undefined;
  scopes?: string[] | undefined;
  authorizeUrl?: string | undefined;
  tokenUrl?: string | undefined;
  resource?: string | undefined;
  hasSecret: boolean;
}

const Scopes = z
  .union([z.array(z.string()), z.string().transform((text) => text.split(/[\s,]+/).filter(Boolean))])
  .optional()
  .catch(undefined);
const Port = z.coerce.number().int().min(1).max(65_535).optional().catch(undefined);

const Fields = z.object({
  clientId: Text,
  client_id: Text,
  CLIENT_ID: Text,
  callbackPort: Port,
  callback_port: Port,
  scopes: Scopes,
  scope: Scopes,
  clientSecret: Text,
  client_secret: Text,
  CLIENT_SECRET: Text,
  authorizationUrl: Text,
  authorization_url: Text,
  authorizationEndpoint: Text,
  authorization_endpoint: Text,
  tokenUrl: Text,
  token_url: Text,
  tokenEndpoint: Text,
  token_endpoint: Text,
  resource: Text.catch(undefined),
  oauth_resource: Text,
});

const Settings = Fields.transform((oauth): OAuthSettings => ({
  clientId: [oauth.clientId, oauth.client_id, oauth.CLIENT_ID].find(Boolean),
  callbackPort: oauth.callbackPort ?? oauth.callback_port,
  scopes: oauth.scopes ?? oauth.scope,
  authorizeUrl:
    oauth.authorizationUrl ??
    oauth.authorization_url ??
    oauth.authorizationEndpoint ??
    oauth.authorization_endpoint,
  tokenUrl: oauth.tokenUrl ?? oauth.token_url ?? oauth.tokenEndpoint ?? oauth.token_endpoint,
  resource: oauth.resource ?? oauth.oauth_resource,
  hasSecret: [oauth.clientSecret, oauth.client_secret, oauth.CLIENT_SECRET].some(Boolean),
}));

/** The sign-in settings, in a separate field or in the entry itself. `false` turns the sign-in off. */
export function oauthOf(entry: Readonly<Record<string, unknown>>): OAuthSettings {
  const inner = [entry['oauth'], entry['auth']].find(isObject);
  const { client_id, client_secret, scopes, authorization_url, token_url, oauth_resource, oauthClientId } =
    entry;
  const own = { client_id, client_secret, scopes, authorization_url, token_url, oauth_resource };
  const parsed = Settings.safeParse(inner ?? { ...own, clientId: oauthClientId });
  return parsed.data ?? { hasSecret: false };
}

/** The entry fields that `oauthOf` reads. */
export const oauthFields: readonly string[] = [
  'oauth',
  'auth',
  'client_id',
  'client_secret',
  'scopes',
  'authorization_url',
  'token_url',
  'oauth_resource',
  'oauthClientId',
];

/** The same in its inner object. */
export const oauthInnerFields: readonly string[] = Object.keys(Fields.shape);
