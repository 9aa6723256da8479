import * as z from 'zod';
import { laterExchangeFields } from './later-fields.ts';
import { block, lastColumns, resource } from './resource.ts';
import { ReferencedStatus, say } from './values.ts';

const TokenExchange = z.object({
  tokenUrl: say(z.string(), 'The token exchange endpoint.'),
  clientId: say(z.string(), 'The client ID for the token exchange.'),
  clientSecretRef: say(
    z.object({
      name: say(z.string(), 'The name of the Secret.'),
      key: say(z.string(), 'The key in the Secret.'),
    }),
    'The client secret, as a reference to a Secret in this namespace.',
  ),
  audience: say(z.string(), 'The audience of the new token.'),
  scopes: say(z.array(z.string()), 'The OAuth scopes to request.').optional(),
  externalTokenHeaderName: say(
    z.string(),
    "The header for the new token. If absent, the new token replaces the caller's token.",
  ).optional(),
});

/** The token exchange for a server. */
export const mcpExternalAuthConfig = resource({
  kind: 'MCPExternalAuthConfig',
  singular: 'mcpexternalauthconfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  summary: 'The exchange of caller tokens for tokens that the server accepts.',
  spec: z.object({
    type: say(
      z.enum(['tokenExchange']),
      'The authentication method. `tokenExchange` is defined in RFC 8693.',
    ),
    tokenExchange: say(TokenExchange, 'The token exchange settings, for `type: tokenExchange`.').optional(),
  }),
  rules: [block('self.spec', 'tokenExchange')],
  laterFields: laterExchangeFields,
  status: ReferencedStatus,
  columns: [{ name: 'Type', type: 'string', jsonPath: '.spec.type' }, ...lastColumns],
  example: {
    name: 'weather',
    spec: {
      type: 'tokenExchange',
      tokenExchange: {
        tokenUrl: 'https://id.example.com/token',
        clientId: 'toolhive',
        clientSecretRef: { name: 'token-exchange', key: 'client-secret' },
        audience: 'weather',
      },
    },
  },
});
