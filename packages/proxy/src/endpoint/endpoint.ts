import type { Bridge } from '../bridge/bridge.ts';
import { replyText } from '../http/reply.ts';
import type { Exchange } from '../middleware/middleware.ts';
import { namedSession } from './named-session.ts';
import { messagesPath, openEventSession, receiveEventMessage } from './sse.ts';
import { serveStreamableHttp } from './streamable-http.ts';

/** Serves a bridge to clients of every protocol version: streamable HTTP at `/mcp`, HTTP+SSE at `/sse`. */
export function serveEndpoint(bridge: Bridge, exchange: Exchange): void {
  const { request, response, path } = exchange;
  // A client that supports streamable HTTP may use the older URL, where GET without a session begins one of HTTP+SSE.
  const isStreamable = path === '/sse' && (request.method !== 'GET' || namedSession(exchange) !== undefined);
  if (path === '/mcp' || isStreamable) serveStreamableHttp(bridge, exchange);
  else if (path === '/sse') openEventSession(bridge, exchange);
  else if (path === messagesPath) receiveEventMessage(bridge, exchange);
  else replyText(response, 404, 'not found; the endpoints of this proxy are /mcp and /sse');
}
