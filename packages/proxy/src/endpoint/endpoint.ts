import type { Bridge } from '../bridge/bridge.ts';
import { takesEvents } from '../http/accept.ts';
import { replyText } from '../http/reply.ts';
import type { Exchange } from '../middleware/middleware.ts';
import { namedSession } from './named-session.ts';
import { messagesPath, openEventSession, receiveEventMessage } from './sse.ts';
import { serveStreamableHttp } from './streamable-http.ts';

/**
 * Serves a bridge to clients of every protocol version: streamable HTTP and HTTP+SSE, both at `/mcp` and at `/sse`. A client
 * may know only one of the addresses, and its first request shows its transport.
 */
export function serveEndpoint(bridge: Bridge, exchange: Exchange): void {
  const { response, path } = exchange;
  if (path === messagesPath) receiveEventMessage(bridge, exchange);
  else if (path !== '/mcp' && path !== '/sse')
    replyText(response, 404, 'not found; the endpoints of this proxy are /mcp and /sse');
  else if (beginsEventSession(exchange)) openEventSession(bridge, exchange);
  else serveStreamableHttp(bridge, exchange);
}

/**
 * Whether a request begins a session of HTTP+SSE: GET without a session. In streamable HTTP, a client gets its session first,
 * and names its protocol version from then on.
 */
export function beginsEventSession(exchange: Exchange): boolean {
  const { request, path } = exchange;
  const { headers } = request;
  if (request.method !== 'GET' || namedSession(exchange) !== undefined) return false;
  const isNew = headers['mcp-protocol-version'] === undefined && headers['last-event-id'] === undefined;
  return path === '/sse' || (path === '/mcp' && isNew && takesEvents(request));
}
