import type { Readable } from 'node:stream';
import { messageOf, unsupported } from '@toolhive/contract/failure';
import type { PassingSet } from '@toolhive/contract/passing';
import type { OpenSession } from '../bridge/bridge.ts';
import type { KeepAlive } from '../bridge/pending-replies.ts';
import { passInputResponses } from '../bridge/input-required.ts';
import { batchVersion, readIncoming, refuseBatch } from '../endpoint/incoming.ts';
import type { Incoming } from '../endpoint/incoming.ts';
import { isModernRequest, modernClient, refusalOf } from '../endpoint/modern-headers.ts';
import { onceClosed } from '../http/closing.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { ExceededBudget } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, errorMessage, idText, isObject, noAnswer } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusedResponse } from '../middleware/message-pipeline.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller, Exchange } from '../middleware/middleware.ts';
import { mcpErrors } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { abortedBy } from '../transport/answer.ts';
import type { Answer, AnswerHeaders, AnswerListener } from '../transport/answer.ts';
import { readEvents } from '../transport/events.ts';
import { eventStreamType, isJson, mediaTypeOf } from '../transport/media-type.ts';
import { nameOf, negotiatedHeaders, replacedHeaders } from './forwarded-headers.ts';
import type { ForwardedRequest, HttpForwarder } from './forwarder.ts';
import { ForwardedReply } from './forwarded-reply.ts';
import { ServerMessages } from './server-messages.ts';
import { ServerSessions, unknownClient } from './server-sessions.ts';
import type { ServerSession } from './server-sessions.ts';
import { answerIn, asStandard, mustAnswer } from './standard-reply.ts';

export interface GuardedForwarderOptions {
  workload: string;
  forwarder: HttpForwarder;
  messages: MessagePipeline;
  input: WorkloadInput;
  /** Callers are authenticated: sessions belong to them, and their `Authorization` is for the proxy alone. */
  isAuthenticated: boolean;
  /** Requests whose connections must be kept alive. */
  pending: PassingSet<KeepAlive>;
  /** Told that the server has exceeded a limit and must be stopped. */
  onExcess: (reason: string) => void;
}

/** One HTTP request to the server, or one of its messages. */
interface Forwarding {
  exchange: Exchange;
  session: ServerSession | undefined;
  caller: Caller;
  reply: ForwardedReply;
  /** The message in the body. */
  message?: Message;
  /** What the client sent, if that is a request. */
  request?: Message;
  /** The event after which the client resumes a stream, as the server knows it, and the request of the stream. */
  resumed?: { id: string; request: Message } | undefined;
  /** Whether the response was passed on, and why another text of the server is no message. */
  outcome?: { isAnswered: boolean; invalid?: string };
}

/** How long the server may take to accept a response that ToolHive sends in the client's place. */
const respondMs = 30_000;

/**
 * Forwards requests to a server over streamable HTTP, like `HttpForwarder`, but passes every message through the
 * middleware. The server manages its sessions. Only the principal that created a session can use it.
 */
export class GuardedForwarder {
  readonly #options: GuardedForwarderOptions;
  readonly #sessions: ServerSessions;
  readonly #serverMessages: ServerMessages;

  constructor(options: GuardedForwarderOptions) {
    this.#options = options;
    this.#sessions = new ServerSessions(options);
    this.#serverMessages = new ServerMessages(options);
  }

  /** The server and its sessions have ended. */
  readonly disconnect = (): void => this.#sessions.endAll();

  /** The sessions that the server has begun and that are not known to have ended. */
  openSessions(): OpenSession[] {
    return this.#sessions.all().map(describeSession);
  }

  /** Tells the server to end a session. Returns whether there was one. Throws `unsupported` if the server refuses. */
  async endSession(id: string): Promise<boolean> {
    const session = this.#sessions.all().find((one) => one.id === id);
    if (session === undefined) return false;
    const status = await this.#options.forwarder.endSession(id, session.client.protocolVersion);
    if (status === 405)
      throw unsupported('the server does not let clients end sessions', { hint: 'restart the workload' });
    this.#sessions.end(id);
    return true;
  }

  handle(exchange: Exchange): void {
    const { request, response, path } = exchange;
    if (path !== '/mcp')
      return replyText(response, 404, 'not found; the endpoints of this proxy are /mcp and /sse');
    switch (request.method) {
      case 'POST':
        return this.#receive(exchange);
      case 'GET':
      case 'DELETE':
        return this.#forwardEmpty(exchange);
      default:
        replyText(response, 405, 'use POST, GET or DELETE', { allow: 'POST, GET, DELETE' });
    }
  }

  #receive(exchange: Exchange): void {
    const { request, response } = exchange;
    const { headers } = request;
    if (!isJson(headers['content-type']))
      return replyText(response, 415, 'send the message as application/json');
    readIncoming(exchange, this.#options.input, (incoming) => {
      const { message, messages } = incoming;
      const isModern = message !== undefined && isModernRequest(headers, message);
      const refused = isModern ? refusalOf(headers, message) : undefined;
      // Which versions there are says the server itself.
      if (isModern && refused !== undefined && refused.code !== mcpErrors.unsupportedVersion)
        return replyJson(response, 400, refusedResponse(message, refused).text);
      const session = this.#sessionOf(exchange);
      if (session === 'unknown' || isRefusedBatch(incoming, exchange)) return;
      const reply = openReply(exchange, this.#options.pending, messages.length);
      for (const one of messages) {
        const client = isModern && one.kind === 'request' ? modernClient(one) : clientOf(one, session);
        this.#forward(
          { exchange, session, caller: callerOf(this.#options, exchange, session, client), reply },
          one,
        );
      }
    });
  }

  /** Returns the session that a request names. Replies with an error if the principal may not use the session. */
  #sessionOf({ request, response, principal, sealing }: Exchange): ServerSession | undefined | 'unknown' {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return undefined;
    const session =
      this.#sessions.find(String(id), principal) ??
      (sealing?.named && this.#sessions.adopt(String(id), principal, sealing.named.client));
    if (session !== undefined) return session;
    // With 404, a client initializes again (MCP 2025-11-25, Transports, Session Management).
    replyText(response, 404, 'session not found. Initialize a new session');
    return 'unknown';
  }

  #forward(forwarding: Forwarding, message: Message): void {
    const { session, caller, reply } = forwarding;
    const { messages } = this.#options;
    if (message.kind === 'request') return this.#forwardRequest(forwarding, message);
    if (message.kind === 'notification') {
      return messages.toServer(caller, message, undefined, (outcome) => {
        if (outcome.kind === 'refusal') reply.whole(202, {}, '');
        else this.#send({ ...forwarding, message: outcome });
      });
    }
    const request = session?.serverRequests.take(message);
    messages.toServer(caller, message, request, (outcome) =>
      this.#send({
        ...forwarding,
        message: outcome.kind === 'refusal' ? refusedResponse(message, outcome) : outcome,
      }),
    );
  }

  #forwardRequest(forwarding: Forwarding, request: Message): void {
    const { messages } = this.#options;
    const { caller, reply, session } = forwarding;
    const answer = (message: Message): void => reply.message(message);
    messages.request(caller, request, { answer, notify() {} }, (passed) =>
      passInputResponses(messages, caller, passed, {
        answer,
        proceed: (message) => {
          session?.requests.add(request);
          this.#send({ ...forwarding, message, request, outcome: { isAnswered: false } });
        },
      }),
    );
  }

  /** Forwards a request without a body: for the stream of a session, or its end. */
  #forwardEmpty(exchange: Exchange): void {
    const session = this.#sessionOf(exchange);
    if (session === 'unknown') return;
    const caller = callerOf(this.#options, exchange, session, session?.client ?? unknownClient);
    const last = exchange.request.headers['last-event-id'];
    const resumed = typeof last === 'string' ? exchange.sealing?.openedEvent(last) : undefined;
    this.#send({ exchange, session, caller, resumed, reply: openReply(exchange, this.#options.pending, 1) });
  }

  /** Sends a request to the server, and forwards the reply. */
  #send(forwarding: Forwarding): void {
    const failed = (error: unknown): void => this.#failed(forwarding, error);
    this.#ask(forwarding, {
      failed,
      answered: (received) => {
        try {
          const answer = asStandard(forwarding, received);
          this.#followSession(forwarding, answer);
          const { headers, body } = answer;
          if (typeof body !== 'string') this.#passStream(forwarding, headers, body).catch(failed);
          else this.#options.input.process(() => this.#passWhole(forwarding, { ...answer, body }, failed));
        } catch (error) {
          failed(error);
        }
      },
    });
  }

  #ask(forwarding: Forwarding, listener: AnswerListener): void {
    const { forwarder, input, isAuthenticated } = this.#options;
    const { exchange, message, reply } = forwarding;
    const forwarded = {
      body: message?.text ?? null,
      replaced: { ...replacedHeaders(isAuthenticated), ...exchange.credentials, ...ownHeaders(forwarding) },
      aborter: reply,
      budget: input.output,
    };
    forwarder.request(exchange.request, forwarded, listener);
  }

  #failed({ reply }: Forwarding, error: unknown): void {
    if (error instanceof ExceededBudget) this.#options.onExcess(error.message);
    reply.fail(`the server did not answer: ${messageOf(error)}`);
  }

  async #passStream(forwarding: Forwarding, headers: AnswerHeaders, body: Readable): Promise<void> {
    const { reply } = forwarding;
    if (mediaTypeOf(headers) !== eventStreamType) {
      body.destroy();
      throw new Error('the response is not an event stream');
    }
    reply.open({ ...headers, 'content-type': eventStreamType });
    let canResume = false;
    for await (const { data, id } of readEvents(body, this.#options.input)) {
      canResume ||= id !== undefined;
      const text = data === '' ? '' : await new Promise<string>((done) => this.#pass(forwarding, data, done));
      // An event whose message is withheld still has its ID, with which the client can resume the stream.
      if (text !== '' || id !== undefined) await reply.event({ data: text, id: eventIdFor(forwarding, id) });
    }
    if (!canResume) await answerMissing(forwarding);
    reply.end();
  }

  /** Forwards a reply that is not a stream. Returns false, because the reading step is complete. Does not throw. */
  #passWhole(
    forwarding: Forwarding,
    { statusCode, headers, body }: Answer & { body: string },
    failed: (error: unknown) => void,
  ): boolean {
    const { reply, request } = forwarding;
    const mustBe = mustAnswer(forwarding, statusCode, body);
    const complete = (text: string): void => {
      if (text === '' && mustBe) this.#failed(forwarding, new Error(unanswered(forwarding)));
      else reply.whole(mustBe ? 200 : statusCode, mustBe ? asJson(headers) : headers, text);
    };
    // Replies to notifications are not read by clients, and failures may be anything.
    const completeOther = (text: string): void => {
      if (text !== '' || request === undefined) return complete(text);
      const answer = answerIn(body, request, this.#options.input);
      if (answer !== undefined) this.#pass(forwarding, answer, complete);
      else complete(mustBe ? '' : body);
    };
    try {
      if (body !== '' && (mustBe || isJson(headers['content-type'])))
        this.#pass(forwarding, body, completeOther);
      else complete(mustBe ? '' : body);
    } catch (error) {
      failed(error); // this code may run in a later turn, without another handler for exceptions
    }
    return false;
  }

  /** Remembers a session that the server has begun, and forgets one that has ended. */
  #followSession({ exchange, session, request }: Forwarding, { statusCode, headers }: Answer): void {
    const begun = headers['mcp-session-id'];
    if (request?.value.method === 'initialize' && statusCode < 300 && typeof begun === 'string')
      this.#sessions.begin(
        begun,
        exchange.principal,
        clientOf(request, undefined),
        exchange.relayed !== undefined,
      );
    const isOver = statusCode === 404 || (exchange.request.method === 'DELETE' && statusCode < 300);
    if (session !== undefined && isOver) this.#sessions.end(session.id);
  }

  /** Passes messages of the server through the middleware. Calls back with those for the client. */
  #pass(forwarding: Forwarding, text: string, done: (text: string) => void): void {
    this.#serverMessages.pass(answeredOf(forwarding), text, (own) => this.#respond(forwarding, own), done);
  }

  /** Sends a response to a request of the server, in the session in which that came. */
  #respond({ exchange }: Forwarding, { text }: Message): void {
    const { forwarder, input } = this.#options;
    const forwarded = {
      method: 'POST',
      body: text,
      replaced: {
        ...replacedHeaders(this.#options.isAuthenticated),
        ...exchange.credentials,
        ...typesOfResponse,
        'last-event-id': undefined,
      },
      aborter: abortedBy(AbortSignal.timeout(respondMs)),
      budget: input.output,
    };
    forwarder.request(exchange.request, forwarded, {
      answered: ({ body }) => typeof body !== 'string' && body.on('error', () => {}).destroy(),
      failed: () => {}, // the server may have ended
    });
  }
}

const typesOfResponse = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function asJson(headers: AnswerHeaders): AnswerHeaders {
  return { ...headers, 'content-type': 'application/json' };
}

/** The request that the messages of the server belong to, which hears of its response. */
function answeredOf(forwarding: Forwarding) {
  const { outcome, exchange } = forwarding;
  return {
    ...forwarding,
    request: requestOf(forwarding),
    isPartial: exchange.sealing !== undefined,
    isAnswered: () => outcome?.isAnswered === true,
    onAnswer() {
      if (outcome !== undefined) outcome.isAnswered = true;
    },
    onInvalid(why: string) {
      if (outcome !== undefined) outcome.invalid = why;
    },
  };
}

/** Answers a request whose stream ended without its response and cannot be resumed, so that its client does not wait. */
async function answerMissing({ reply, request, outcome }: Forwarding): Promise<void> {
  if (request === undefined || outcome?.isAnswered !== false) return;
  const why =
    outcome.invalid === undefined
      ? 'its stream ended before the answer'
      : `its event is invalid: ${outcome.invalid}`;
  const { text } = errorMessage(idText(request), errorCodes.serverError, `${noAnswer}: ${why}`);
  await reply.event({ data: text });
}

function unanswered({ outcome }: Forwarding): string {
  const why = outcome?.invalid === undefined ? '' : `: ${outcome.invalid}`;
  return `the response does not answer the request${why}`;
}

/** The request that the messages of a reply belong to, also if the request came over an earlier connection. */
function requestOf({ request, resumed }: Forwarding): Message | undefined {
  return request ?? resumed?.request;
}

/** The headers that describe the request to the server, where it differs from the client's request. */
function ownHeaders({ exchange, message, request, resumed }: Forwarding): ForwardedRequest['replaced'] {
  const isChanged = message !== undefined && message !== request;
  const name = isChanged && exchange.request.headers['mcp-name'] !== undefined ? nameOf(message) : undefined;
  return {
    ...negotiatedHeaders(exchange.request, message),
    ...(name === undefined ? {} : { 'mcp-name': name }),
    ...(resumed === undefined ? {} : { 'last-event-id': resumed.id }),
  };
}

/** The ID of an event for the client, which tells any proxy the request of the event. */
function eventIdFor(forwarding: Forwarding, id: string | undefined): string | undefined {
  const request = requestOf(forwarding);
  if (id === undefined || request === undefined) return id;
  return forwarding.exchange.sealing?.sealedEvent(id, request) ?? id;
}

function clientOf({ value }: Message, session: ServerSession | undefined): ClientIdentity {
  if (value.method !== 'initialize') return session?.client ?? unknownClient;
  const { protocolVersion, capabilities, clientInfo } = value.params ?? {};
  return {
    protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : unknownClient.protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    clientInfo,
  };
}

function callerOf(
  { workload }: { workload: string },
  { principal }: Exchange,
  session: ServerSession | undefined,
  client: ClientIdentity,
): Caller {
  return { workload, principal, client, ...(session === undefined ? {} : { session: session.id }) };
}

function describeSession({ id, client, isRelayed, startedMs, lastSeenMs }: ServerSession): OpenSession {
  return { id, client, isRelayed, startedMs, lastSeenMs, process: 'shared' };
}

function isRefusedBatch(incoming: Incoming, { request, response }: Exchange): boolean {
  // The version of a request without the header (MCP 2025-06-18, Transports, Protocol Version Header).
  const version = request.headers['mcp-protocol-version'] ?? batchVersion;
  return refuseBatch(incoming, String(version), response);
}

/** Opens the reply to a request with a number of messages, whose connection is kept alive until its end. */
function openReply({ response }: Exchange, pending: PassingSet<KeepAlive>, messages: number): ForwardedReply {
  const reply = new ForwardedReply(response, messages);
  pending.add(reply);
  onceClosed(response, () => {
    pending.delete(reply);
    reply.disconnected();
  });
  return reply;
}
