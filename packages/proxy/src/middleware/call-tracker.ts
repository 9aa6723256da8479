import type { ServerResponse } from 'node:http';
import { PassingMap } from '@toolhive/contract/passing';
import { takesEvents } from '../http/accept.ts';
import { onceClosed } from '../http/closing.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { CallContext, Exchange, RefusedCall } from './middleware.ts';

/** A request of a client that has not been answered. */
export interface OpenCall {
  readonly context: CallContext;
  readonly exchange: Exchange | undefined;
  readonly startMs: number;
  /** The reason for the refusal, if a middleware refused the call. */
  denied?: string;
}

/** How a request of a client has ended. */
export interface CallEnding {
  /** Absent if there was none. */
  response?: Message | undefined;
  /** Why the call received no response. */
  reason?: string | undefined;
  /** Whether the client canceled the call or disconnected. */
  isCancelled: boolean;
  durationMs: number;
}

/** Told of everything that passes a proxy. */
export interface CallListener {
  /** Told once of each request of a client. */
  ended: (call: OpenCall, ending: CallEnding) => void;
  /** Told of each notification of a client. */
  notified: (context: CallContext, exchange: Exchange | undefined) => void;
  /** Told of each request of the server. */
  asked: (context: CallContext) => void;
  /** Told of a message other than a client's request that a middleware has refused. */
  refused: (context: CallContext, exchange: Exchange | undefined, reason: string) => void;
  /** Told of an HTTP request of which no message was seen, with its status: 499 if the client has disconnected. */
  unread: (exchange: Exchange, startMs: number, status: number) => void;
}

/** How long a request is waited for whose connection has ended. Its response may come over another one. */
const detachedMs = 10 * 60_000;
const maxDetached = 1_000;
/** How often they are looked for. */
const sweepMs = 60_000;
/** How many cancellations are remembered. */
const maxCancelled = 1_000;

const unanswered = 'the call received no response';

/** What an HTTP request has led to so far. */
interface Trace {
  exchange: Exchange;
  startMs: number;
  /** Whether a message of this request has reached the message middleware. */
  isRead: boolean;
  /** Its response has ended, or its connection. */
  isClosed: boolean;
  messages: readonly Message[];
  open: OpenCall[];
}

/**
 * Follows the requests of clients from their arrival to their end. Used by middleware that only looks. Neighbors in the
 * pipeline see the same, so they share a tracker: one of them reports every message, and all of them are told.
 */
export class CallTracker {
  readonly #listeners: CallListener[] = [];
  readonly #now: () => number;
  // Maps, because every entry of a weak map costs the garbage collector as much as the rest of a call costs.
  /** What is known of the HTTP request of each message, until that is closed. */
  readonly #traces = new PassingMap<Message, Trace>();
  /** The calls that came in with an HTTP request, until they end. */
  readonly #calls = new PassingMap<Message, OpenCall>();
  /** Calls of which nothing would tell that they are given up. */
  readonly #untraced = new WeakMap<Message, OpenCall>();
  readonly #detached = new PassingMap<OpenCall, number>();
  /** Requests that clients have cancelled, by session and ID. */
  readonly #cancelled = new Set<string>();
  #sweeping: NodeJS.Timeout | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Adds a listener. Call this method before the first request. */
  tell(listener: CallListener): void {
    this.#listeners.push(listener);
  }

  /** Starts to follow an HTTP request. Call this method before anything can answer the request. */
  follow(exchange: Exchange): void {
    const trace: Trace = {
      exchange,
      startMs: this.#now(),
      isRead: false,
      isClosed: false,
      messages: [],
      open: [],
    };
    const { onMessages: tellAlso } = exchange;
    const onMessages = (messages: readonly Message[]): void => {
      tellAlso?.(messages);
      if (trace.isClosed) return;
      trace.messages = messages;
      for (const message of messages) this.#traces.set(message, trace);
    };
    exchange.onMessages = onMessages;
    const { response } = exchange;
    if (isStream(exchange)) {
      // A stream is reported when it starts, because it may last for days.
      onHead(response, (status) => {
        for (const listener of this.#listeners) listener.unread(exchange, trace.startMs, status);
      });
    } else onceClosed(response, () => this.#closed(trace));
  }

  /** Sees a message that passes, in either direction. */
  see(context: CallContext): void {
    const { direction, message, request } = context;
    if (direction === 'to server') {
      const trace = this.#traces.get(message);
      if (trace !== undefined) trace.isRead = true;
      if (message.kind === 'request') this.#begin(context, trace);
      if (message.kind === 'notification') {
        this.#noteCancellation(context);
        for (const listener of this.#listeners) listener.notified(context, trace?.exchange);
      }
    } else if (message.kind === 'request') {
      for (const listener of this.#listeners) listener.asked(context);
    } else if (message.kind === 'response' && request !== undefined) {
      const call = this.#callOf(request);
      if (call !== undefined) this.#finish(call, message);
    }
  }

  /** Sees a message that a middleware has refused. */
  seeRefused({ context, refusal, isFault }: RefusedCall): void {
    if (isFault) return;
    const { message, direction, request } = context;
    const about = direction === 'to server' ? message : request;
    const call = about && this.#callOf(about);
    if (call === undefined) {
      const { exchange } = this.#traces.get(request ?? message) ?? {};
      for (const listener of this.#listeners) listener.refused(context, exchange, refusal.message);
      return;
    }
    call.denied = refusal.message;
    // The refusal of a response does not come by here.
    if (direction === 'to client' && message.kind === 'response') this.#finish(call);
  }

  /** How many requests of a session have not ended. */
  inFlight(session: string): number {
    let count = 0;
    for (const { context } of this.#calls.values()) if (context.session === session) count += 1;
    return count;
  }

  /** Ends the requests that are still waited for, when the proxy ends. */
  close(): void {
    clearInterval(this.#sweeping);
    for (const call of this.#detached.keys()) this.#finish(call, undefined, unanswered);
  }

  #begin(context: CallContext, trace: Trace | undefined): void {
    const call = { context, exchange: trace?.exchange, startMs: trace?.startMs ?? this.#now() };
    if (trace === undefined || trace.isClosed) {
      this.#untraced.set(context.message, call);
      return;
    }
    this.#calls.set(context.message, call);
    trace.open.push(call);
  }

  #callOf(request: Message): OpenCall | undefined {
    return this.#calls.get(request) ?? this.#untraced.get(request);
  }

  /** Tells of a request whose response passes, or that gets none. */
  #finish(call: OpenCall, response?: Message, reason?: string): void {
    const { context, startMs } = call;
    if (!this.#calls.delete(context.message) && !this.#untraced.delete(context.message)) return;
    this.#detached.delete(call);
    const isCancelled = this.#takeCancellation(context) || reason === disconnected;
    const ending = { response, reason, isCancelled, durationMs: this.#now() - startMs };
    for (const listener of this.#listeners) listener.ended(call, ending);
  }

  #closed(trace: Trace): void {
    const { exchange, startMs, isRead, messages, open } = trace;
    trace.isClosed = true;
    for (const message of messages) this.#traces.delete(message);
    if (!isRead) {
      const { response, path } = exchange;
      const isOwn = /^\/(health|metrics|\.well-known\/.*)$/.test(path) && !isDenial(response);
      const status = response.writableFinished ? response.statusCode : 499;
      if (isOwn) return;
      for (const listener of this.#listeners) listener.unread(exchange, startMs, status);
      return;
    }
    for (const call of open) {
      const { context } = call;
      if (!this.#calls.has(context.message)) continue;
      // Only a client with a session can receive the response over another connection.
      if (context.session === undefined) this.#finish(call, undefined, disconnected);
      else if (this.#cancelled.has(keyOf(context, context.message.value.id)))
        this.#finish(call, undefined, unanswered);
      else this.#detach(call);
    }
  }

  #detach(call: OpenCall): void {
    this.#detached.set(call, this.#now());
    const [oldest] = this.#detached.keys();
    if (this.#detached.size > maxDetached && oldest !== undefined)
      this.#finish(oldest, undefined, unanswered);
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  #sweep(): void {
    const since = this.#now() - detachedMs;
    for (const [call, at] of this.#detached) if (at < since) this.#finish(call, undefined, unanswered);
    if (this.#detached.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  #noteCancellation(context: CallContext): void {
    const { method, params } = context.message.value;
    const id = params?.['requestId'];
    if (method !== 'notifications/cancelled' || context.session === undefined) return;
    if ((typeof id !== 'string' && typeof id !== 'number') || String(id).length > 64) return;
    this.#cancelled.add(keyOf(context, id));
    const [oldest] = this.#cancelled;
    if (this.#cancelled.size > maxCancelled && oldest !== undefined) this.#cancelled.delete(oldest);
  }

  #takeCancellation(context: CallContext): boolean {
    return this.#cancelled.size > 0 && this.#cancelled.delete(keyOf(context, context.message.value.id));
  }
}

const disconnected = 'the client disconnected';

function keyOf({ session = '' }: CallContext, id: unknown): string {
  return `${session} ${typeof id} ${String(id)}`;
}

/** Whether a request opens an event stream that belongs to no message. */
export function isStream({ request, path }: Exchange): boolean {
  return request.method === 'GET' && (path === '/sse' || takesEvents(request));
}

/** Whether a response refuses its request. */
export function isDenial({ statusCode, headersSent }: ServerResponse): boolean {
  return headersSent && (statusCode === 401 || statusCode === 403);
}

/** Calls back once with the status of a response, when its head is written. */
function onHead(response: ServerResponse, done: (status: number) => void): void {
  const writeHead = response.writeHead.bind(response);
  let isDone = false;
  const tell = (status: number): void => {
    if (!isDone) done(status);
    isDone = true;
  };
  // Also called for an implicit head (Node.js, ServerResponse), so this sees every response.
  const told = (...given: Parameters<typeof writeHead>): ServerResponse => {
    tell(given[0]);
    return writeHead(...given);
  };
  response.writeHead = told as typeof writeHead;
  response.once('close', () => tell(499));
}
