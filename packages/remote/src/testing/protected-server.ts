import { serveRoutes } from './authorization-server.ts';
import type { AuthorizationServer, Exchange } from './authorization-server.ts';

export interface ProtectedServerChanges {
  /** Changes what it says about itself; undefined has it say nothing. */
  metadata?: (metadata: Record<string, unknown>) => unknown;
  /** How it calls the type of that. */
  type?: string;
  /** Where it says that. */
  wellKnown?: string;
  /** Its `WWW-Authenticate`; the empty text has it send none. */
  challenge?: (origin: string) => string;
}

/** A server at `/mcp` that lets in whoever has a token of an authorization server. */
export async function openProtectedServer(
  authority: Pick<AuthorizationServer, 'issuer' | 'isValid'>,
  initial: ProtectedServerChanges = {},
) {
  const changes = { ...initial };
  const wellKnown = changes.wellKnown ?? '/.well-known/oauth-protected-resource/mcp';
  const server = await serveRoutes((origin) => {
    const mcp = ({ headers, reply }: Exchange): void => {
      if (authority.isValid(headers.authorization)) return reply(200, { jsonrpc: '2.0', id: 0, result: {} });
      const challenge = changes.challenge?.(origin) ?? 'Bearer';
      return reply(401, {}, challenge === '' ? {} : { 'www-authenticate': challenge });
    };
    return {
      'POST /mcp': mcp,
      'GET /mcp': mcp,
      [`GET ${wellKnown}`]: ({ reply }) => {
        const metadata = { resource: `${origin}/mcp`, authorization_servers: [authority.issuer] };
        const said = changes.metadata === undefined ? metadata : changes.metadata(metadata);
        if (said === undefined) reply(404, {});
        else reply(200, said, { 'content-type': changes.type ?? 'application/json' });
      },
    };
  });
  return { ...server, changes, url: `${server.origin}/mcp` };
}
