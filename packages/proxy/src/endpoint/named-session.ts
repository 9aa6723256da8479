import type { Bridge } from '../bridge/bridge.ts';
import type { Session } from '../bridge/session.ts';
import type { Exchange } from '../middleware/middleware.ts';

export const sessionHeader = 'mcp-session-id';

/**
 * Returns the session ID in a request for an event stream: in the streamable HTTP header, or at `/sse` also in the
 * query.
 */
export function namedSession({ request, path, query }: Exchange): string | undefined {
  const id = request.headers[sessionHeader];
  if (typeof id === 'string') return id;
  return path === '/sse' ? sessionOfQuery(query) : undefined;
}

/** Returns the ID of the session in a query. The original uses the first name, the official SDKs the second. */
export function sessionOfQuery(query: string): string | undefined {
  const parameters = new URLSearchParams(query);
  return parameters.get('session_id') ?? parameters.get('sessionId') ?? undefined;
}

/** Returns the session with an ID if the caller may use it, also one that a proxy has held that has ended. */
export function findSession(
  { sessions }: Bridge,
  id: string,
  { principal, sealing }: Exchange,
): Session | undefined {
  const found = sessions.find(id, principal);
  if (found !== undefined || sealing?.named?.isOrphan !== true) return found;
  return sessions.adopt(id, principal, sealing.named.client);
}
