import type { Readable } from 'node:stream';
import { messageOf, unsupported } from '@toolhive/contract/failure';
import type { KeepAlive, OpenSession } from '../bridge/bridge.ts';
import { passInputRequests, passInputResponses } from '../bridge/input-required.ts';
import { batchVersion, readIncoming, refuseBatch } from '../endpoint/incoming.ts';
import type { Incoming } from '../endpoint/incoming.ts';
import { isModernRequest, modernClient, refusalOf } from '../endpoint/modern-headers.ts';
import { replyJson, replyText } from '../http/reply.ts';
import { ExceededBudget } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { isObject, readBatch, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusedResponse } from '../middleware/message-pipeline.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller, Exchange } from '../middleware/middleware.ts';
import { encoded, namedBy } from '../protocol/header-values.ts';
import { mcpErrors } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { abortedBy } from '../transport/answer.ts';
import type { Answer, AnswerHeaders, AnswerListener } from '../transport/answer.ts';
import { readEvents } from '../transport/events.ts';
import type { ForwardedRequest, HttpForwarder } from './forwarder.ts';
import { ForwardedReply } from './forwarded-reply.ts';
import { ServerSessions, unknownClient } from './server-sessions.ts';
import type { ServerSession } from './server-sessions.ts';

export interface GuardedForwarderOptions {
  workload: string;
  forwarder: HttpForwarder;
  messages: MessagePipeline;
  input: WorkloadInput;
  /** Callers are authenticated: sessions belong to them, and their `Authorization` is for the proxy alone. */
  isAuthenticated: boolean;
  /** Requests whose connections must be kept alive. */
  pending: Set<KeepAlive>;
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
}

/** The longest error without an ID that clients get. */
const maxFailureChars = 10_000;

/** The proxy reads replies, so the server must not compress them. The forwarded body may have another length. */
const replaced = { 'accept-encoding': undefined, 'content-length': undefined };
const replacedOfAuthenticated = { ...replaced, authorization: undefined };

/** How long the server may take to accept a response that ToolHive sends in the client's place. */
const respondMs = 30_000;

/**
 * Forwards requests to a server over streamable HTTP, like `HttpForwarder`, but passes every message through the
 * middleware. The server manages its sessions. Only the principal that created a session can use it.
 */
export class GuardedForwarder {
  readonly #options: GuardedForwarderOptions;
  readonly #sessions: ServerSessions;

  constructor(options: GuardedForwarderOptions) {
    this.#options = options;
    this.#sessions = new ServerSessions(options);
  }

  /** The server and its sessions have ended. */
  disconnect(): void {
    this.#sessions.endAll();
  }

  /** The sessions that the server has begun and that are not known to have ended. */
  openSessions(): OpenSession[] {
    return this.#sessions.all().map(({ id, client, isRelayed, startedMs, lastSeenMs }) => ({
      id,
      client,
      isRelayed,
      startedMs,
      lastSeenMs,
      process: 'shared',
    }));
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
      if (session === 'unknown' || this.#isRefusedBatch(incoming, exchange)) return;
      const reply = this.#reply(exchange, messages.length);
      for (const one of messages) {
        const client = isModern && one.kind === 'request' ? modernClient(one) : clientOf(one, session);
        this.#forward({ exchange, session, caller: this.#caller(exchange, session, client), reply }, one);
      }
    });
  }

  /** Returns the session that a request names. Replies with an error if the principal may not use the session. */
  #sessionOf({ request, response, principal }: Exchange): ServerSession | undefined | 'unknown' {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return undefined;
    const session = this.#sessions.find(String(id), principal);
    if (session !== undefined) return session;
    // With 404, a client initializes again (MCP 2025-11-25, Transports, Session Management).
    replyText(response, 404, 'session not found. Initialize a new session');
    return 'unknown';
  }

  #isRefusedBatch(incoming: Incoming, { request, response }: Exchange): boolean {
    // The version of a request without the header (MCP 2025-06-18, Transports, Protocol Version Header).
    const version = request.headers['mcp-protocol-version'] ?? batchVersion;
    return refuseBatch(incoming, String(version), response);
  }

  #reply({ response }: Exchange, messages: number): ForwardedReply {
    const { pending } = this.#options;
    const reply = new ForwardedReply(response, messages);
    pending.add(reply);
    response.once('close', () => {
      pending.delete(reply);
      reply.disconnected();
    });
    return reply;
  }

  #caller({ principal }: Exchange, session: ServerSession | undefined, client: ClientIdentity): Caller {
    const { workload } = this.#options;
    return session === undefined
      ? { workload, principal, client }
      : { workload, principal, client, session: session.id };
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
          this.#send({ ...forwarding, message, request });
        },
      }),
    );
  }

  /** Forwards a request without a body: for the stream of a session, or its end. */
  #forwardEmpty(exchange: Exchange): void {
    const session = this.#sessionOf(exchange);
    if (session === 'unknown') return;
    const caller = this.#caller(exchange, session, session?.client ?? unknownClient);
    this.#send({ exchange, session, caller, reply: this.#reply(exchange, 1) });
  }

  /** Sends a request to the server, and forwards the reply. */
  #send(forwarding: Forwarding): void {
    const failed = (error: unknown): void => this.#failed(forwarding, error);
    this.#ask(forwarding, {
      failed,
      answered: (answer) => {
        try {
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

  #ask({ exchange, message, request, reply }: Forwarding, listener: AnswerListener): void {
    const { forwarder, input } = this.#options;
    const isChanged = message !== undefined && message !== request;
    const name =
      isChanged && exchange.request.headers['mcp-name'] !== undefined ? nameOf(message) : undefined;
    const forwarded = {
      body: message?.text ?? null,
      replaced: {
        ...this.#replaced,
        ...exchange.credentials,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
      aborter: reply,
      budget: input.output,
    };
    forwarder.request(exchange.request, forwarded, listener);
  }

  get #replaced(): ForwardedRequest['replaced'] {
    return this.#options.isAuthenticated ? replacedOfAuthenticated : replaced;
  }

  #failed({ reply }: Forwarding, error: unknown): void {
    if (error instanceof ExceededBudget) this.#options.onExcess(error.message);
    reply.fail(`the server did not answer: ${messageOf(error)}`);
  }

  async #passStream(forwarding: Forwarding, headers: AnswerHeaders, body: Readable): Promise<void> {
    const { reply } = forwarding;
    if (!isEventStream(headers['content-type'])) {
      body.destroy();
      throw new Error('the response is not an event stream');
    }
    reply.open(headers);
    for await (const { data, id } of readEvents(body, this.#options.input)) {
      const text = data === '' ? '' : await new Promise<string>((done) => this.#pass(forwarding, data, done));
      // An event whose message is withheld still has its ID, with which the client can resume the stream.
      if (text !== '' || id !== undefined) await reply.event({ data: text, id });
    }
    reply.end();
  }

  /** Forwards a reply that is not a stream. Returns false, because the reading step is complete. Does not throw. */
  #passWhole(
    forwarding: Forwarding,
    { statusCode, headers, body }: Answer & { body: string },
    failed: (error: unknown) => void,
  ): boolean {
    const { reply, request } = forwarding;
    // Replies to notifications are not read by clients, and failures may be text.
    const isMessage = isJson(headers['content-type']) && body !== '';
    const mustBe = request !== undefined && statusCode < 400;
    const complete = (text: string): void => {
      if (text === '' && mustBe)
        this.#failed(forwarding, new Error('the response does not answer the request'));
      else reply.whole(statusCode, headers, text);
    };
    try {
      if (isMessage) this.#pass(forwarding, body, complete);
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

  /** Passes a server message or batch through the middleware. Calls back with the client's messages, possibly none. */
  #pass(forwarding: Forwarding, text: string, done: (text: string) => void): void {
    let messages: Message[];
    try {
      messages = isBatch(text) ? readBatch(text) : [readMessage(text)];
    } catch {
      // A failure outside any request has no ID, so it is not a message either (JSON-RPC 2.0, section 5).
      if (isFailure(text)) return done(text);
      this.#reportInvalid(text);
      return done('');
    }
    const texts: string[] = [];
    const deliverFrom = (at: number): void => {
      const message = messages[at];
      if (message === undefined)
        return done(isBatch(text) && texts.length > 0 ? `[${texts.join()}]` : texts.join());
      this.#deliver(forwarding, message, (delivered) => {
        if (delivered !== undefined) texts.push(delivered.text);
        deliverFrom(at + 1);
      });
    };
    deliverFrom(0);
  }

  /** Passes a server message through the middleware, and calls back with the client's message, if any. */
  #deliver(forwarding: Forwarding, message: Message, done: (message?: Message) => void): void {
    const { caller, session, request } = forwarding;
    const { messages } = this.#options;
    if (message.kind === 'response') {
      const answered = answeredBy(message, forwarding);
      if (answered === undefined) return done(); // the client has not asked this
      session?.requests.take(message);
      return messages.toClient(caller, message, answered, (outcome) => {
        if (outcome.kind === 'refusal') done(refusedResponse(answered, outcome));
        else passInputRequests(messages, caller, { request: answered, response: outcome }, done);
      });
    }
    messages.toClient(caller, message, request, (outcome) => {
      if (outcome.kind !== 'refusal') {
        if (message.kind === 'request') session?.serverRequests.add(message);
        return done(outcome);
      }
      // The server gets the refusal as the client's response.
      if (message.kind === 'request') this.#respond(forwarding, refusedResponse(message, outcome));
      done();
    });
  }

  /** Sends a response to a request of the server, in the session in which that came. */
  #respond({ exchange }: Forwarding, { text }: Message): void {
    const { forwarder, input } = this.#options;
    const types = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const forwarded = {
      method: 'POST',
      body: text,
      replaced: { ...this.#replaced, ...exchange.credentials, ...types, 'last-event-id': undefined },
      aborter: abortedBy(AbortSignal.timeout(respondMs)),
      budget: input.output,
    };
    forwarder.request(exchange.request, forwarded, {
      answered: ({ body }) => typeof body !== 'string' && body.on('error', () => {}).destroy(),
      failed: () => {}, // the server may have ended
    });
  }

  #reportInvalid(text: string): void {
    const excess = this.#options.input.reportInvalid(text);
    if (excess !== undefined) this.#options.onExcess(excess);
  }
}

/** Returns the request that a response answers: the request of this reply, or another request of the session. */
function answeredBy(response: Message, { request, session }: Forwarding): Message | undefined {
  return request !== undefined && request.value.id === response.value.id
    ? request
    : session?.requests.find(response);
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

/** Returns the value of the header `Mcp-Name` for a message. */
function nameOf({ value: { method = '', params } }: Message): string | undefined {
  const name = params?.[namedBy[method] ?? ''];
  return typeof name === 'string' ? encoded(name) : undefined;
}

/** Whether a text is an error response without an ID. */
function isFailure(text: string): boolean {
  if (text.length > maxFailureChars) return false;
  try {
    const value: unknown = JSON.parse(text);
    return (
      isObject(value) &&
      isObject(value['error']) &&
      value['result'] === undefined &&
      value['method'] === undefined
    );
  } catch {
    return false;
  }
}

function isBatch(text: string): boolean {
  return /^\s*\[/.test(text);
}

function isJson(type: string | readonly string[] | undefined): boolean {
  return typeof type === 'string' && /^application\/json\s*(;|$)/i.test(type);
}

function isEventStream(type: string | readonly string[] | undefined): boolean {
  return typeof type === 'string' && type.startsWith('text/event-stream');
}
