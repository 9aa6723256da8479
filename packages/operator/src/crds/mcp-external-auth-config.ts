import * as z from 'zod';
import { age, block, resource } from './resource.ts';
import { ReferencedStatus, say } from './values.ts';

const TokenExchange = z.object({
  tokenUrl: say(z.string(), 'Where tokens are traded.'),
  clientId: say(z.string(), 'Who trades.'),
  clientSecretRef: say(
    z.object({
      name: say(z.string(), 'The name of the Secret.'),
      key: say(z.string(), 'The key in the Secret.'),
    }),
    'The secret of that client, in a Secret of this namespace.',
  ),
  audience: say(z.string(), 'The audience of the new token.'),
  scopes: say(z.array(z.string()), 'What to ask permission for.').optional(),
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
  summary: 'How the token of a caller is traded for one that the server accepts.',
  spec: z.object({
    type: say(z.enum(['tokenExchange']), 'The way to get a token (RFC 8693).'),
    tokenExchange: say(TokenExchange, 'What that way needs, for `type: tokenExchange`.').optional(),
  }),
  rules: [block('self.spec', 'tokenExchange')],
  status: ReferencedStatus,
  columns: [{ name: 'Type', type: 'string', jsonPath: '.spec.type' }, age],
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
