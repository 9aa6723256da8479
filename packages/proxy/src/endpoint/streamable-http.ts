import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Bridge } from '../bridge/bridge.ts';
import type { Session } from '../bridge/session.ts';
import { parseEventId } from '../bridge/stream.ts';
import { EventStream } from '../http/event-stream.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { errorCodes, errorText, idText, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Responder } from '../connection/connection.ts';
import type { Exchange } from '../pipeline.ts';
import { legacyVersions, meta } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { batchVersion, readIncoming, refuseBatch } from './incoming.ts';
import type { Incoming } from './incoming.ts';
import { isModernRequest, refusalOf, wrongParameter } from './modern-headers.ts';
import type { Refusal } from './modern-headers.ts';
import { ModernPostReply, SessionPostReply, takesEvents } from './post-reply.ts';

const sessionHeader = 'mcp-session-id';

/**
 * Serves a bridge as streamable HTTP: one endpoint for clients of all protocolVersions. Legacy ones use POST, GET and DELETE
 * (MCP 2025-11-25, Transports), modern ones POST only (MCP 2026-07-28, Streamable HTTP).
 */
export function serveStreamableHttp(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  switch (request.method) {
    case 'POST':
      return receive(bridge, exchange);
    case 'GET':
      return openStream(bridge, request, response);
    case 'DELETE':
      return endSession(bridge, request, response);
    default:
      replyText(response, 405, 'use POST, GET or DELETE', { allow: 'POST, GET, DELETE' });
  }
}

function receive(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  const mediaType = request.headers['content-type'];
  if (mediaType === undefined || !/^application\/json\s*(;|$)/i.test(mediaType)) {
    return replyText(response, 415, 'send the message as application/json');
  }
  readIncoming(exchange, bridge.input, (incoming) => {
    const { message } = incoming;
    if (message !== undefined && isModernRequest(request.headers, message)) {
      return receiveModern(bridge, message, request, response);
    }
    const revision = request.headers['mcp-protocol-version'];
    if (revision !== undefined && !(legacyVersions as readonly unknown[]).includes(revision)) {
      return replyText(response, 400, `the revision ${String(revision)} of MCP is not spoken here`);
    }
    const session = sessionFor(bridge, message, request, response);
    if (session === undefined) return;
    // Without a session and a header it is this one (MCP 2025-06-18, Transports, Protocol Version Header).
    const spoken =
      request.headers[sessionHeader] === undefined
        ? (revision ?? batchVersion)
        : session.client.protocolVersion;
    if (refuseBatch(incoming, String(spoken), response)) return;
    if (message === undefined) return deliverBatch(bridge, session, incoming, response);
    deliver(bridge, session, message, request, response);
  });
}

/** The session that a message belongs to. Only `initialize` begins one; answers the request if there is none. */
function sessionFor(
  bridge: Bridge,
  message: Message | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Session | undefined {
  if (message?.kind === 'request' && message.value.method === 'initialize') return bridge.beginSession();
  const id = request.headers[sessionHeader];
  // A message outside any session is answered too: simple clients send just that.
  if (id === undefined) return bridge.sessionOn(request.socket);
  const session = typeof id === 'string' ? bridge.findSession(id) : undefined;
  // 404 is what tells a client to initialize again (MCP 2025-11-25, Transports, Session Management).
  if (session === undefined) replyText(response, 404, 'there is no such session, initialize a new one');
  return session;
}

function deliver(
  bridge: Bridge,
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
  const headers = message.value.method === 'initialize' ? { [sessionHeader]: session.id } : undefined;
  const { waiting } = bridge;
  const canStream = takesEvents(request);
  bridge.accept(session, message, new SessionPostReply({ response, session, waiting, canStream, headers }));
}

/** Answers several messages at once, when all of them are answered. */
function deliverBatch(
  bridge: Bridge,
  session: Session,
  { messages }: Incoming,
  response: ServerResponse,
): void {
  const answers: string[] = [];
  let missing = messages.filter(({ kind }) => kind === 'request').length;
  if (missing === 0) response.writeHead(202).end();
  for (const message of messages) {
    bridge.accept(session, message, {
      get isAbandoned() {
        return response.destroyed;
      },
      notify: (text) => session.send(text),
      ask: (text) => session.send(text),
      answer(text) {
        answers.push(text);
        if (--missing === 0) replyJson(response, 200, `[${answers.join(',')}]`);
      },
    });
  }
}

function receiveModern(
  bridge: Bridge,
  message: Message,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { headers } = request;
  const refusal = message.kind === 'response' ? noResponses : refusalOf(headers, message);
  if (refusal !== undefined) return refuse(response, message, refusal);
  if (message.kind !== 'request') {
    response.writeHead(202).end(); // the modern era has no notification that could matter over HTTP
    return;
  }
  const { method, params } = message.value;
  if (method !== 'tools/call') return answerModern(bridge, message, response);
  bridge.withMirrored(String(params?.['name']), (mirrored) => {
    const wrong = wrongParameter(headers, mirrored, params?.['arguments']);
    if (wrong === undefined) answerModern(bridge, message, response);
    else refuse(response, message, wrong);
  });
}

const noResponses: Refusal = {
  code: errorCodes.invalidRequest,
  message: 'servers ask nothing in this revision, so there is nothing to respond to',
};

function refuse(response: ServerResponse, message: Message, { code, message: why, data }: Refusal): void {
  replyJson(response, 400, errorText(idText(message), code, why, data));
}

function answerModern(bridge: Bridge, message: Message, response: ServerResponse): void {
  if (response.destroyed) return; // the client went away while it was looked up what its headers must say
  const described = message.value.params?._meta ?? {};
  const capabilities = described[meta.clientCapabilities];
  const client: ClientIdentity = {
    protocolVersion: String(described[meta.protocolVersion]),
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo: described[meta.clientInfo],
  };
  const logLevel = described[meta.logLevel];
  const reply = new ModernPostReply(response, bridge.waiting);
  const connection = connectionOf(bridge, response.req.socket);
  const pending = bridge.acceptModern(
    { message, client, connection, principal: '', ...(typeof logLevel === 'string' ? { logLevel } : {}) },
    reply,
  );
  response.once('close', () => {
    reply.close();
    pending.giveUp();
  });
}

/** The names of connections. */
const connections = new WeakMap<Duplex, string>();
let lastConnection = 0;

/** The name of a connection; what is kept for it ends when it does. */
function connectionOf(bridge: Bridge, socket: Duplex): string {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const name = String(++lastConnection);
  connections.set(socket, name);
  socket.once('close', () => bridge.forgetConnection(name));
  return name;
}

function openStream(bridge: Bridge, request: IncomingMessage, response: ServerResponse): void {
  if (!takesEvents(request)) return replyText(response, 406, 'this stream comes as text/event-stream only');
  const id = request.headers[sessionHeader];
  if (typeof id !== 'string') return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = bridge.findSession(id);
  if (session === undefined)
    return replyText(response, 404, 'there is no such session, initialize a new one');
  const eventId = request.headers['last-event-id'];
  if (eventId === undefined) return session.stream.connect(new EventStream(response));
  const last = parseEventId(String(eventId));
  const stream = last === undefined ? undefined : session.findStream(last.name);
  // A client that misses messages must know, and 404 tells it to begin anew.
  if (last === undefined || stream?.canResumeAfter(last.id) !== true)
    return replyText(response, 404, 'the events after this one are not available, initialize a new session');
  stream.connect(new EventStream(response), { lastSeen: last.id });
}

function endSession(bridge: Bridge, request: IncomingMessage, response: ServerResponse): void {
  const id = request.headers[sessionHeader];
  if (typeof id !== 'string') return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = bridge.findSession(id);
  if (session === undefined) return replyText(response, 404, 'there is no such session');
  bridge.closeSession(session);
  response.writeHead(204).end();
}

const nothing: Responder = { answer: () => {}, notify: () => {} };
