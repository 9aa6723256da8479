import { randomUUID } from 'node:crypto';
import type { ServerConnection } from '../connection/connection.ts';
import type { Call } from '../connection/connection.ts';
import type { OwnConnection } from '../connection/pool.ts';
import { errorCodes, restate, withParams } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { MessagesToClient } from '../middleware/message-pipeline.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller, Outcome, Principal } from '../middleware/middleware.ts';
import { isOffered, newestLegacyVersion } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import type { SharedStreams, StoredOwner } from './shared-streams.ts';
import { ResumableStream } from './stream.ts';

/** How many resumable streams a session keeps, and how many bytes of them. */
const maxStreams = 32;
const maxKeptChars = 8 * 1024 * 1024;
/** How many requests of the server a client may leave unanswered. */
const maxServerRequests = 100;

/** The client's answer to a request of the server. */
export type ClientAnswer = { result: unknown } | { error: unknown };

interface ServerRequest {
  request: Message;
  answered: (answer: ClientAnswer) => void;
}

export interface SessionOptions {
  workload: string;
  /** The principal that created the session. No other principal can use it. */
  principal: Principal;
  messages: MessagePipeline;
  /** Whether the session began through the API. */
  isRelayed: boolean;
  nowMs: number;
  elapsedMs: number;
  /** The ID of a session that another proxy began. By default, a new one. */
  id?: string | undefined;
  /** Where its events go, so that another proxy can continue the session. By default, nowhere. */
  shared?: SharedStreams | undefined;
}

/** One legacy client's conversation with a workload. It survives lost connections and server restarts. */
export class Session {
  readonly id: string;
  /** The principal that created the session, with the claims of the latest token. */
  principal: Principal;
  /** What the client said about itself, with the protocol version that was agreed on. */
  client: ClientIdentity = { protocolVersion: newestLegacyVersion, capabilities: {} };
  readonly isRelayed: boolean;
  readonly startedMs: number;
  lastSeenMs: number;
  /** The same on a clock that is never set. */
  usedMs: number;
  /** Whether the session continues after its first request, so that it can have a separate server process. */
  isLasting = false;
  /** Clients use this ID to name the session. */
  isNamed = false;
  readonly subscriptions = new Set<string>();
  logLevel: string | undefined;
  /** A connection to the server that no other client uses. */
  own: Promise<OwnConnection> | undefined;
  /** Carries messages that belong to no request. */
  readonly stream: ResumableStream;
  readonly #options: SessionOptions;
  readonly #toClient: MessagesToClient;
  readonly #streams = new Map<string, ResumableStream>();
  /** Streams of a continued session have other names than those in its earlier life, whose events they do not have. */
  readonly #life: string;
  readonly #serverRequests = new Map<number, ServerRequest>();
  #lastServerRequest = 0;
  #lastStream = 0;
  #admitting = 0;
  readonly #afterAdmission: (() => void)[] = [];

  constructor(options: SessionOptions) {
    this.#options = options;
    this.id = options.id ?? randomUUID();
    this.#life = options.id === undefined ? '' : `-${randomUUID().slice(0, 8)}`;
    const name = `s${this.#life}`;
    this.principal = options.principal;
    this.stream = this.#newStream(name);
    this.#streams.set(name, this.stream);
    this.isRelayed = options.isRelayed;
    this.startedMs = options.nowMs;
    this.lastSeenMs = options.nowMs;
    this.usedMs = options.elapsedMs;
    this.#toClient = new MessagesToClient(options.messages);
  }

  /** Whose messages these are, for the middleware. */
  get caller(): Caller {
    const { principal, client, id, isNamed } = this;
    const { workload } = this.#options;
    return isNamed ? { workload, principal, client, session: id } : { workload, principal, client };
  }

  /** Whether the client has a connection on which it waits for messages. */
  get isListening(): boolean {
    return this.#streams.values().some(({ isConnected }) => isConnected);
  }

  /** A request enters the middleware. Call the returned function when the request has passed or was refused. */
  beginAdmission(): () => void {
    this.#admitting++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#admitting--;
      if (this.#admitting === 0) for (const run of this.#afterAdmission.splice(0)) run();
    };
  }

  /** Runs something when all earlier requests have passed the middleware. */
  afterAdmission(run: () => void): void {
    if (this.#admitting === 0) run();
    else this.#afterAdmission.push(run);
  }

  /** Sends a notification that belongs to no request. */
  notify(notification: Message): void {
    if (this.#options.messages.isEmpty) return this.stream.send(notification.text);
    this.#toClient.pass(this.caller, notification, undefined, (outcome) => {
      if (outcome.kind !== 'refusal') this.stream.send(outcome.text);
    });
  }

  /** Opens a stream for the request with an ID. A client can resume the stream by its name. */
  openStream(request: string | number | undefined): ResumableStream {
    this.#forgetStreams();
    const name = `r${++this.#lastStream}${this.#life}`;
    const stream = this.#newStream(name, request);
    this.#streams.set(name, stream);
    return stream;
  }

  /** Stores the subscriptions and the log level, for a proxy that continues the session. */
  recordSetup(): void {
    const { subscriptions, logLevel } = this;
    if (this.isNamed)
      this.#options.shared?.recordSetup(this.#owner, { subscriptions: [...subscriptions], logLevel });
  }

  findStream(name: string): ResumableStream | undefined {
    return this.#streams.get(name);
  }

  /** Forwards a legacy server's request to the client, or declines it if the client does not support it. */
  ask(connection: ServerConnection, request: Message, call: Call | undefined): void {
    if (!isOffered(this.client, request.value.method ?? '')) return connection.decline(request);
    this.askClient(request, call, (answer) => connection.respond(request, answer));
  }

  /**
   * Asks the client, under an ID that is unique in this session: on the stream of the client's request `during` which
   * the server asks, or on the session's own stream if that is not possible.
   */
  askClient(
    request: Message,
    during: Pick<Call, 'request' | 'responder'> | undefined,
    answered: (answer: ClientAnswer) => void,
  ): void {
    const id = ++this.#lastServerRequest;
    const asked = withParams(restate(request, { newId: String(id) }));
    const deliver = (outcome: Outcome): void => {
      if (outcome.kind === 'refusal') {
        const { code, message, data } = outcome;
        return answered({ error: { code, message, data } });
      }
      this.#serverRequests.set(id, { request: outcome, answered });
      this.#limitServerRequests();
      if (during?.responder.ask === undefined) this.stream.send(outcome.text);
      else during.responder.ask(outcome);
    };
    if (this.#options.messages.isEmpty) deliver(asked);
    else this.#toClient.pass(this.caller, asked, during?.request, deliver);
  }

  /** Takes the client's response to a request of the server. A response to anything else is ignored. */
  answered(response: Message): void {
    const { id } = response.value;
    const asked = typeof id === 'number' ? this.#serverRequests.get(id) : undefined;
    if (typeof id !== 'number' || asked === undefined) return;
    const { messages } = this.#options;
    if (messages.isEmpty) return this.#settle(id, answerOf(response));
    messages.toServer(this.caller, response, asked.request, (outcome) => {
      if (outcome.kind !== 'refusal') return this.#settle(id, answerOf(outcome));
      const { code, message, data } = outcome;
      this.#settle(id, { error: { code, message, data } });
    });
  }

  close(): void {
    for (const id of this.#serverRequests.keys()) this.#settle(id, { error: unanswered });
    for (const stream of this.#streams.values()) stream.end();
    this.#streams.clear();
    this.releaseOwn();
  }

  /** Closes the session's own connection. Its next request opens another one. With `ifIdle`, only if no request is pending. */
  releaseOwn({ ifIdle = false }: { ifIdle?: boolean } = {}): void {
    const { own } = this;
    const release = (opened: OwnConnection): void => {
      if (ifIdle && opened.connection.busy > 0) return;
      if (this.own === own) this.own = undefined;
      opened.giveBack();
    };
    void own?.then(release, () => {}); // the stream was never opened
    if (!ifIdle) this.own = undefined;
  }

  get #owner(): StoredOwner {
    return { session: this.id, principal: this.principal.id };
  }

  /** A stream whose events are stored if the client can come back to the session. */
  #newStream(name: string, request?: string | number): ResumableStream {
    const { shared } = this.#options;
    if (shared === undefined) return new ResumableStream(name);
    const belonging = request === undefined ? {} : { request };
    // Its beginning is stored too, because a client can come back before the first event.
    if (request !== undefined && this.isNamed) shared.record(this.#owner, name, { number: 0, ...belonging });
    return new ResumableStream(name, (number, text, isLast) => {
      if (!this.isNamed) return;
      const last = isLast ? { isLast: true as const } : {};
      shared.record(this.#owner, name, { number, text, ...belonging, ...last });
    });
  }

  #settle(id: number, answer: ClientAnswer): void {
    const asked = this.#serverRequests.get(id);
    this.#serverRequests.delete(id);
    asked?.answered(answer);
  }

  #limitServerRequests(): void {
    if (this.#serverRequests.size <= maxServerRequests) return;
    const [oldest] = this.#serverRequests.keys();
    if (oldest !== undefined) this.#settle(oldest, { error: unanswered });
  }

  /** Forgets streams that have ended, the oldest first. The others are still in use. */
  #forgetStreams(): void {
    let keptChars = this.#streams.values().reduce((sum, stream) => sum + stream.keptChars, 0);
    for (const [name, stream] of this.#streams) {
      if (this.#streams.size < maxStreams && keptChars <= maxKeptChars) return;
      if (!stream.isEnded) continue;
      this.#streams.delete(name);
      keptChars -= stream.keptChars;
    }
  }
}

function answerOf({ value: { result, error } }: Message): ClientAnswer {
  return error === undefined ? { result } : { error };
}

const unanswered = { code: errorCodes.serverError, message: 'the client has not answered' };
