import type { IncomingMessage, ServerResponse } from 'node:http';
import { EventStream, encodeEvent } from '../http/event-stream.ts';
import { replyText } from '../http/reply.ts';
import type { StdioBridge } from './bridge.ts';
import { readIncoming } from './incoming.ts';

/** Where messages of an event stream are posted to. */
export const messagesPath = '/messages';

/** Opens a session of HTTP+SSE (MCP 2024-11-05, Transports): it lives exactly as long as this stream. */
export function openEventSession(bridge: StdioBridge, response: ServerResponse): void {
  const session = bridge.openSession();
  const stream = new EventStream(response);
  stream.write(encodeEvent('endpoint', `${messagesPath}?session_id=${session.id}`));
  session.listen(stream);
  stream.onClose(() => bridge.closeSession(session));
}

/** Takes a message for a session of HTTP+SSE; its answer goes out over the stream. */
export function receiveEventMessage(
  bridge: StdioBridge,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): void {
  if (request.method !== 'POST') return replyText(response, 405, 'use POST', { allow: 'POST' });
  // The original's name comes first; the official SDKs spell it the other way.
  const id = query.get('session_id') ?? query.get('sessionId');
  if (id === null) return replyText(response, 400, 'the parameter session_id is missing');
  const session = bridge.findSession(id);
  if (session === undefined) return replyText(response, 404, 'there is no such session');
  readIncoming(request, response, (message) => {
    bridge.accept(session, message, {
      answer: (reply) => session.send(reply),
      notify: (note) => session.send(note),
    });
    replyText(response, 202, 'Accepted');
  });
}
