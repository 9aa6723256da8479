import type { Bridge } from '../bridge/bridge.ts';
import { replyText } from '../http/reply.ts';
import type { Exchange } from '../pipeline.ts';
import { messagesPath, openEventSession, receiveEventMessage } from './sse.ts';
import { serveStreamableHttp } from './streamable-http.ts';

/** Serves a bridge to clients of every revision. Both kinds of endpoint are always there. */
export function serveBridge(bridge: Bridge, exchange: Exchange): void {
  const { request, response, path, query } = exchange;
  // A newer client that was given the older URL posts to it.
  if (path === '/mcp' || (path === '/sse' && request.method !== 'GET')) {
    serveStreamableHttp(bridge, exchange);
  } else if (path === '/sse') openEventSession(bridge, response);
  else if (path === messagesPath) receiveEventMessage(bridge, exchange, new URLSearchParams(query));
  else replyText(response, 404, 'not found; the endpoints here are /mcp and /sse');
}
