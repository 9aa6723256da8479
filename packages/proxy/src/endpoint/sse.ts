import { EventStream, encodeEvent } from '../http/event-stream.ts';
import { publicOrigin } from '../http/public-origin.ts';
import { replyText } from '../http/reply.ts';
import type { Bridge } from '../bridge/bridge.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Exchange } from '../middleware/middleware.ts';
import { readIncoming, refuseBatch } from './incoming.ts';
import { sessionOfQuery } from './named-session.ts';

/** The path that messages of an event stream are posted to. */
export const messagesPath = '/messages';

/**
 * Opens an HTTP+SSE session (MCP 2024-11-05, Transports). The session ends with the stream, unless another stream
 * replaced it.
 */
export function openEventSession(bridge: Bridge, exchange: Exchange): void {
  const { request, response, principal, sealing } = exchange;
  const session = bridge.sessions.begin(principal);
  bridge.sessions.keep(session);
  const stream = new EventStream(response);
  const { prefix } = publicOrigin(request, bridge.trustProxyHeaders);
  const id = sealing?.sealed(session.id, session.client) ?? session.id;
  stream.write(encodeEvent('endpoint', `${prefix}${messagesPath}?session_id=${id}`));
  session.stream.connect(stream);
  stream.onClose(() => {
    if (!session.isListening) bridge.sessions.close(session);
  });
}

/** Takes a message for a session of HTTP+SSE. Its answer goes out over the stream. */
export function receiveEventMessage(bridge: Bridge, exchange: Exchange): void {
  const { request, response, query, principal } = exchange;
  if (request.method !== 'POST') return replyText(response, 405, 'use POST', { allow: 'POST' });
  const id = sessionOfQuery(query);
  if (id === undefined) return replyText(response, 400, 'the parameter session_id is missing');
  const session = bridge.sessions.find(id, principal);
  if (session === undefined) return replyText(response, 404, 'session not found');
  const send = ({ text }: Message): void => session.stream.send(text);
  readIncoming(exchange, bridge.input, (incoming) => {
    session.principal = principal; // another request may have come while this one was read
    if (refuseBatch(incoming, session.client.protocolVersion, response)) return;
    for (const message of incoming.messages)
      bridge.accept(session, message, { answer: send, notify: send, ask: send });
    replyText(response, 202, 'Accepted');
  });
}
