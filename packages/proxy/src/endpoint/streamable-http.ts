import type { ServerResponse } from 'node:http';
import { raiseFault } from '@toolhive/contract/fault';
import type { Bridge } from '../bridge/bridge.ts';
import type { ModernRequest } from '../bridge/modern-call.ts';
import type { Session } from '../bridge/session.ts';
import { eventsAfter } from '../bridge/shared-streams.ts';
import type { SharedStreams } from '../bridge/shared-streams.ts';
import { encodeNumbered, parseEventId } from '../bridge/stream.ts';
import type { Responder } from '../connection/responder.ts';
import { EventStream } from '../http/event-stream.ts';
import { onceClosed } from '../http/closing.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { takesEvents } from '../http/accept.ts';
import { isJson } from '../transport/media-type.ts';
import { errorCodes, ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusal, refusedResponse } from '../middleware/message-pipeline.ts';
import type { Exchange, Refusal, SessionSealing } from '../middleware/middleware.ts';
import { legacyVersions, meta } from '../protocol/protocol.ts';
import { nameOfConnection } from './conversation.ts';
import { batchVersion, readIncoming, refuseBatch } from './incoming.ts';
import type { Incoming } from './incoming.ts';
import { isModernRequest, modernClient, refusalOf, wrongParameter } from './modern-headers.ts';
import { findSession, namedSession, sessionHeader } from './named-session.ts';
import { BatchReply, ModernPostReply, SessionPostReply } from './post-reply.ts';

/**
 * Serves a bridge over streamable HTTP, with one endpoint for clients of all protocol versions. Legacy clients use
 * POST, GET, and DELETE (MCP 2025-11-25, Transports), modern ones only POST (MCP 2026-07-28, Streamable HTTP).
 */
export function serveStreamableHttp(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  switch (request.method) {
    case 'POST':
      return receive(bridge, exchange);
    case 'GET':
      return openStream(bridge, exchange);
    case 'DELETE':
      return endSession(bridge, exchange);
    default:
      replyText(response, 405, 'use POST, GET or DELETE', { allow: 'POST, GET, DELETE' });
  }
}

function receive(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  if (!isJson(request.headers['content-type'])) {
    return replyText(response, 415, 'send the message as application/json');
  }
  readIncoming(exchange, bridge.input, (incoming) => {
    const { message } = incoming;
    if (message !== undefined && isModernRequest(request.headers, message)) {
      return receiveModern(bridge, message, exchange);
    }
    const version = request.headers['mcp-protocol-version'];
    if (version !== undefined && !(legacyVersions as readonly unknown[]).includes(version)) {
      return replyText(response, 400, `the protocol version ${String(version)} of MCP is not supported`);
    }
    const session = sessionFor(bridge, message, exchange);
    if (session === undefined) return;
    // The version of a request with neither a session nor a header (MCP 2025-06-18, Transports, Protocol Version
    // Header).
    const agreed =
      request.headers[sessionHeader] === undefined
        ? (version ?? batchVersion)
        : session.client.protocolVersion;
    if (refuseBatch(incoming, String(agreed), response)) return;
    if (message === undefined) return deliverBatch(bridge, session, incoming, exchange);
    deliver(bridge, session, message, exchange);
  });
}

/** Returns the session that a message belongs to, or answers the request if there is none. */
function sessionFor(bridge: Bridge, message: Message | undefined, exchange: Exchange): Session | undefined {
  const { sessions } = bridge;
  const { request, response, principal } = exchange;
  const isRelayed = exchange.relayed !== undefined;
  if (message?.kind === 'request' && message.value.method === 'initialize')
    return sessions.begin(principal, { isRelayed });
  const id = request.headers[sessionHeader];
  // Messages outside sessions are accepted too, because simple clients do not start a session.
  if (id === undefined) return sessions.ofConnection(request.socket, principal, { isRelayed });
  const session = typeof id === 'string' ? findSession(bridge, id, exchange) : undefined;
  // With 404, a client initializes again (MCP 2025-11-25, Transports, Session Management).
  if (session === undefined) replyText(response, 404, 'session not found. Initialize a new session');
  return session;
}

function deliver(
  bridge: Bridge,
  session: Session,
  message: Message,
  { request, response, sealing }: Exchange,
): void {
  if (message.kind !== 'request') {
    bridge.accept(session, message, noResponder);
    response.writeHead(202).end();
    return;
  }
  const named = (): Record<string, string> => ({
    [sessionHeader]: sealing?.sealed(session.id, session.client) ?? session.id,
  });
  const headers = message.value.method === 'initialize' ? named : undefined;
  const { pending } = bridge;
  const canStream = takesEvents(request);
  const options = { response, session, pending, canStream, headers, requestId: message.value.id };
  bridge.accept(session, message, new SessionPostReply(options));
}

/** Answers several messages at once, as soon as all of them are answered. */
function deliverBatch(
  bridge: Bridge,
  session: Session,
  { messages }: Incoming,
  { response }: Exchange,
): void {
  const requests = messages.filter(({ kind }) => kind === 'request').length;
  if (requests === 0) response.writeHead(202).end();
  const reply = new BatchReply(response, session, requests);
  for (const message of messages) bridge.accept(session, message, reply);
}

function receiveModern(bridge: Bridge, received: Message, exchange: Exchange): void {
  const { request, response, principal, sealing } = exchange;
  const { headers } = request;
  const refused = received.kind === 'response' ? noResponses : refusalOf(headers, received);
  if (refused !== undefined) return replyJson(response, 400, refusedResponse(received, refused).text);
  if (received.kind !== 'request') {
    response.writeHead(202).end(); // no notification of a client matters over HTTP in this protocol version
    return;
  }
  const message = withOpenedState(received, sealing);
  if (message === 'taken') return; // its call waits elsewhere
  const client = modernClient(message);
  const logLevel = message.value.params?._meta?.[meta.logLevel];
  const modern: ModernRequest = {
    message,
    caller: { workload: bridge.workload, principal, client },
    ...nameOfConnection(bridge, request.socket),
    refusalFor: (mirrored) => wrongParameter(headers, mirrored, message.value.params?.['arguments']),
    ...(typeof logLevel === 'string' ? { logLevel } : {}),
    ...(sealing === undefined ? {} : { sealedState: (state: string) => sealing.sealedState(state) }),
  };
  const reply = new ModernPostReply(response, bridge.pending);
  const pending = bridge.acceptModern(modern, reply);
  onceClosed(response, () => {
    reply.close();
    pending.cancel();
  });
}

/** Replaces the state in a request by the one that this proxy gave out, unless its call waits elsewhere. */
function withOpenedState(message: Message, sealing: SessionSealing | undefined): Message | 'taken' {
  const { id, method = '', params } = message.value;
  const sealed = params?.['requestState'];
  if (sealing === undefined || typeof sealed !== 'string') return message;
  const opened = sealing.opened(sealed, message);
  if (opened === 'taken') return opened;
  if (opened.state === sealed) return message;
  return ownMessage({ id, method, params: { ...params, requestState: opened.state } });
}

const noResponses: Refusal = refusal(
  errorCodes.invalidRequest,
  'servers send no requests in this protocol version, so there is nothing to respond to',
);

function openStream(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  if (!takesEvents(request))
    return replyText(response, 406, 'this stream is only available as text/event-stream');
  const id = namedSession(exchange);
  if (id === undefined) return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = findSession(bridge, id, exchange);
  if (session === undefined) return replyText(response, 404, 'session not found. Initialize a new session');
  const eventId = request.headers['last-event-id'];
  if (eventId === undefined) return session.stream.connect(new EventStream(response));
  const last = parseEventId(String(eventId));
  const stream = last === undefined ? undefined : session.findStream(last.name);
  if (last !== undefined && stream?.canResumeAfter(last.id) === true)
    return stream.connect(new EventStream(response), { lastSeen: last.id });
  if (last === undefined || stream !== undefined || bridge.sessions.shared === undefined)
    return replyMissed(response);
  resumeShared({ shared: bridge.sessions.shared, session, response }, last).catch(raiseFault);
}

/** With 404, a client that has missed messages initializes again. */
function replyMissed(response: ServerResponse): void {
  replyText(response, 404, 'the events after this one are not available, initialize a new session');
}

/** Resumes a stream of a proxy that has ended, whose request gets no answer any more. */
async function resumeShared(
  { shared, session, response }: { shared: SharedStreams; session: Session; response: ServerResponse },
  { name, id }: { name: string; id: number },
): Promise<void> {
  const kept = await shared.stream({ session: session.id, principal: session.principal.id }, name);
  if (response.destroyed) return;
  const events = kept && eventsAfter(kept, id);
  if (kept === undefined || events === undefined) return replyMissed(response);
  const connection = new EventStream(response);
  for (const { number, text } of events) connection.write(encodeNumbered(name, number, text));
  if (kept.request === undefined) return session.stream.connect(connection);
  if (kept.isComplete) return connection.end();
  const last = events.at(-1)?.number ?? id;
  const error = { code: errorCodes.serverError, message: lostAnswer };
  const text = JSON.stringify({ jsonrpc: '2.0', id: kept.request, error });
  connection.end(encodeNumbered(name, last + 1, text));
}

const lostAnswer =
  'the proxy that waited for the answer of the server has ended. The server may have executed the request';

function endSession(bridge: Bridge, exchange: Exchange): void {
  const { request, response } = exchange;
  const id = request.headers[sessionHeader];
  if (typeof id !== 'string') return replyText(response, 400, 'the header Mcp-Session-Id is missing');
  const session = findSession(bridge, id, exchange);
  if (session === undefined) return replyText(response, 404, 'session not found');
  bridge.sessions.close(session);
  response.writeHead(204).end();
}

const noResponder: Responder = { answer: () => {}, notify: () => {} };
