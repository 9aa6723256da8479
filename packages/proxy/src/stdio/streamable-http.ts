import type { IncomingMessage, ServerResponse } from 'node:http';
import { EventStream, encodeEvent } from '../http/event-stream.ts';
import { replyJson, replyText } from '../http/reply.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { StdioBridge } from './bridge.ts';
import { readIncoming } from './incoming.ts';
import { Session } from './session.ts';
import type { ReplyTo } from './session.ts';

const sessionHeader = 'mcp-session-id';

/** Serves a bridge as streamable HTTP (MCP 2025-11-25, Transports): one endpoint for POST, GET and DELETE. */
export function serveStreamableHttp(
  bridge: StdioBridge,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (request.method) {
    case 'POST':
      return receiveMessage(bridge, request, response);
    case 'GET':
      return openStream(bridge, request, response);
    case 'DELETE':
      return endSession(bridge, request, response);
    default:
      replyText(response, 405, 'use POST, GET or DELETE', { allow: 'POST, GET, DELETE' });
  }
}

function receiveMessage(bridge: StdioBridge, request: IncomingMessage, response: ServerResponse): void {
  const mediaType = request.headers['content-type'];
  if (mediaType === undefined || !/^application\/json\s*(;|$)/i.test(mediaType)) {
    return replyText(response, 415, 'send the message as application/json');
  }
  readIncoming(request, response, (message) => {
    const session = sessionFor(bridge, message, request, response);
    if (session !== undefined) deliver(bridge, session, message, request, response);
  });
}

/** The session that a message belongs to. Only `initialize` begins one; answers the request if there is none. */
function sessionFor(
  bridge: StdioBridge,
  message: Message,
  request: IncomingMessage,
  response: ServerResponse,
): Session | undefined {
  if (message.kind === 'request' && message.value.method === 'initialize') return bridge.openSession();
  const id = request.headers[sessionHeader];
  // A message outside any session is answered too, and remembered by nothing: simple clients send just that.
  if (id === undefined) return new Session(Date.now());
  const session = typeof id === 'string' ? bridge.findSession(id) : undefined;
  // 404 is what tells a client to initialize again (MCP 2025-11-25, Transports, Session Management).
  if (session === undefined) replyText(response, 404, 'there is no such session, initialize a new one');
  return session;
}

function deliver(
  bridge: StdioBridge,
  session: Session,
  message: Message,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (message.kind !== 'request') {
    bridge.accept(session, message, nothing);
    response.writeHead(202).end();
    return;
  }
  const wantsProgress = message.value.params?._meta?.progressToken !== undefined;
  const takesEvents = request.headers.accept?.includes('text/event-stream') === true;
  if (wantsProgress && takesEvents) return bridge.accept(session, message, replyAsEvents(response));
  const headers = message.value.method === 'initialize' ? { [sessionHeader]: session.id } : undefined;
  bridge.accept(session, message, {
    answer: (text) => replyJson(response, 200, text, headers),
    notify: (text) => session.send(text),
  });
}

/** Progress on the way, then the answer, as one stream that ends with it. */
function replyAsEvents(response: ServerResponse): ReplyTo {
  const stream = new EventStream(response);
  return {
    answer: (text) => stream.end(encodeEvent('message', text)),
    notify: (text) => stream.write(encodeEvent('message', text)),
  };
}

function openStream(bridge: StdioBridge, request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.accept?.includes('text/event-stream') !== true) {
    return replyText(response, 406, 'this stream comes as text/event-stream only');
  }
  const id = request.headers[sessionHeader];
  if (typeof id !== 'string') return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = bridge.findSession(id);
  if (session === undefined)
    return replyText(response, 404, 'there is no such session, initialize a new one');
  session.listen(new EventStream(response));
}

function endSession(bridge: StdioBridge, request: IncomingMessage, response: ServerResponse): void {
  const id = request.headers[sessionHeader];
  if (typeof id !== 'string') return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = bridge.findSession(id);
  if (session === undefined) return replyText(response, 404, 'there is no such session');
  bridge.closeSession(session);
  response.writeHead(204).end();
}

const nothing: ReplyTo = { answer: () => {}, notify: () => {} };
