import type { ServerResponse } from 'node:http';
import { EventStream, encodeEvent } from '../http/event-stream.ts';
import { replyText } from '../http/reply.ts';
import type { Bridge } from '../bridge/bridge.ts';
import type { Exchange } from '../pipeline.ts';
import { readIncoming, refuseBatch } from './incoming.ts';

/** Where messages of an event stream are posted to. */
export const messagesPath = '/messages';

/** Opens a session of HTTP+SSE (MCP 2024-11-05, Transports): it lives exactly as long as this stream. */
export function openEventSession(bridge: Bridge, response: ServerResponse): void {
  const session = bridge.beginSession();
  bridge.keepSession(session);
  const stream = new EventStream(response);
  stream.write(encodeEvent('endpoint', `${messagesPath}?session_id=${session.id}`));
  session.stream.connect(stream);
  stream.onClose(() => bridge.closeSession(session));
}

/** Takes a message for a session of HTTP+SSE; its answer goes out over the stream. */
export function receiveEventMessage(bridge: Bridge, exchange: Exchange, query: URLSearchParams): void {
  const { request, response } = exchange;
  if (request.method !== 'POST') return replyText(response, 405, 'use POST', { allow: 'POST' });
  // The original's name comes first; the official SDKs spell it the other way.
  const id = query.get('session_id') ?? query.get('sessionId');
  if (id === null) return replyText(response, 400, 'the parameter session_id is missing');
  const session = bridge.findSession(id);
  if (session === undefined) return replyText(response, 404, 'there is no such session');
  const send = (text: string): void => session.send(text);
  readIncoming(exchange, bridge.input, (incoming) => {
    if (refuseBatch(incoming, session.client.protocolVersion, response)) return;
    for (const message of incoming.messages)
      bridge.accept(session, message, { answer: send, notify: send, ask: send });
    replyText(response, 202, 'Accepted');
  });
}
