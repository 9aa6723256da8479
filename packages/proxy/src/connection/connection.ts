import { messageOf } from '@toolhive/contract/failure';
import type { WorkloadInput } from '../input/workload-input.ts';
import {
  isObject,
  errorCodes,
  errorText,
  idText,
  readMessage,
  restate,
  written,
} from '../jsonrpc/message.ts';
import type { Message, MessageValue } from '../jsonrpc/message.ts';
import { meta } from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import type { Transport } from '../transport/transport.ts';

/** How much a server may leave unread before requests are refused. */
const maxUnreadBytes = 32 * 1024 * 1024;
/** How many requests it may leave unanswered before further ones are refused, in total and of one session. */
const maxCalls = 1000;
const maxCallsOfSession = 100;
/** How long a request waits, before it is given up for a new one when there are too many. */
const patientMs = 60_000;

/** Where the answer to one request goes. */
export interface Responder {
  /** Called once, with the response as the client's own id wants it. */
  answer(text: string, value: MessageValue): void;
  /** A notification that belongs to the request, such as its progress. */
  notify(text: string): void;
  /** A question of the server in the course of the request; absent where its client cannot be asked. */
  ask?(text: string): void;
  /** No connection waits for the answer at the moment. */
  readonly isAbandoned?: boolean;
}

/** A reply whose answer goes elsewhere first. */
export function withAnswer(reply: Responder, answer: Responder['answer']): Responder {
  return {
    answer,
    notify: (text) => reply.notify(text),
    get isAbandoned() {
      return reply.isAbandoned === true;
    },
    ...(reply.ask === undefined ? {} : { ask: (text: string) => reply.ask?.(text) }),
  };
}

/** A request under way. */
export interface Call {
  readonly id: number;
  readonly method: string;
  /** Whose it is; only compared. */
  readonly caller: unknown;
  /** Where its answer goes; a call that is resumed is answered somewhere else than where it began. */
  reply: Responder;
  /** The client's id, as JSON text. */
  originalId: string;
  originalToken: string | undefined;
  readonly sinceMs: number;
}

/** Hears what a server says of its own accord. */
export interface ConnectionOwner {
  /** Whether the server waits for somebody who may never come back: then another client may have its place. */
  readonly isParked?: boolean;
  /** A notification; `call` is the request it belongs to, when that can be known. */
  notified(message: Message, call: Call | undefined): void;
  /** A question of a legacy server. It is answered with `link.respond`. */
  asked(connection: ServerConnection, message: Message, call: Call | undefined): void;
  /** The conversation is over. Calls under way have been answered with that. */
  lost(connection: ServerConnection, reason: string): void;
}

export interface ConnectionOptions {
  transport: Transport;
  owner: ConnectionOwner;
  /** The limits on what the server sends. */
  input: WorkloadInput;
  /** Told of bugs here. */
  onFault: (error: unknown) => void;
}

/**
 * One conversation with a server. Every request gets an id of its own, so that those of any number of clients can
 * share it; answers and progress go back under the client's. Who hears the rest is the owner's affair.
 */
export class ServerConnection {
  readonly #options: ConnectionOptions;
  readonly #calls = new Map<number, Call>();
  readonly #abandonedSince = new Map<number, number>();
  #lastId = 0;
  #isOpen = true;
  /** Why the server has to be stopped, if it has to. The reason goes on from "the server". */
  excess: string | undefined;
  #known: { generation: ProtocolGeneration; identity: ServerIdentity } | undefined;
  /** What the server was told of its client, when that holds for the whole conversation. */
  client: ClientIdentity | undefined;
  lastUsedMs = performance.now();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    options.transport.open({
      message: (said, related) => this.#receive(said, related),
      unreadable: (start, why) => this.#drop(start, why),
      exceeded: (reason) => this.#exceed(reason),
      closed: (reason) => this.lose(reason),
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Is there a request that is not answered yet, and whose client is still connected? */
  get isAwaited(): boolean {
    return this.#calls.values().some(({ reply }) => reply.isAbandoned !== true);
  }

  /** Requests that are not answered yet. */
  get busy(): number {
    return this.#calls.size;
  }

  get generation(): ProtocolGeneration {
    return this.#greeted.generation;
  }

  get identity(): ServerIdentity {
    return this.#greeted.identity;
  }

  /** Says who the server is and how it talks, as the greeting has found. */
  become(generation: ProtocolGeneration, identity: ServerIdentity): void {
    this.#known = { generation, identity };
    this.#options.transport.agree(identity.protocolVersion);
  }

  /** Passes on a request of a client. Undefined when it was answered here: nobody is there to take it. */
  ask(message: Message, reply: Responder, caller?: unknown): Call | undefined {
    const { transport } = this.#options;
    const originalId = idText(message);
    const refusal = this.#refusal(caller);
    if (refusal !== undefined) {
      answerError(reply, originalId, errorCodes.serverError, refusal);
      return undefined;
    }
    const originalToken = message.token === undefined ? undefined : written(message, message.token);
    const method = message.value.method ?? '';
    const call = this.#enter({ method, caller, reply, originalId, originalToken });
    const id = String(call.id);
    transport.send(restate(message, { newId: id, newToken: id }), { ...message.value, id: call.id });
    return call;
  }

  /** Why it takes no further request, if it does not. */
  #refusal(caller: unknown): string | undefined {
    if (!this.#isOpen) return 'the server is not running';
    if (caller !== undefined && this.#calls.size >= maxCallsOfSession) {
      const own = this.#calls.values().reduce((count, call) => count + Number(call.caller === caller), 0);
      if (own >= maxCallsOfSession)
        return `more than ${maxCallsOfSession} requests of this session are not answered yet, try again later`;
    }
    if (this.#calls.size >= maxCalls && !this.#makeRoom())
      return 'too many requests are not answered yet, try again later';
    if (this.#options.transport.unreadBytes > maxUnreadBytes)
      return 'the server does not read what it is sent, try again later';
    return undefined;
  }

  /** Gives up a request that nobody waits for, or else the one that waits longest, if that is long. */
  #makeRoom(): boolean {
    const [longest] = this.#calls.values(); // they are in the order in which they came
    const abandoned = this.#calls.values().find(({ reply }) => reply.isAbandoned === true);
    const given = abandoned ?? longest;
    if (given === undefined || (abandoned === undefined && performance.now() - given.sinceMs < patientMs))
      return false;
    this.refuse(given, 'the server has not answered, and others are waiting');
    return true;
  }

  /** Gives up requests for whose answers nobody has been waiting for this long. */
  giveUpAbandoned(abandonedMs: number): void {
    const nowMs = performance.now();
    for (const [id, call] of this.#calls) {
      if (call.reply.isAbandoned !== true) this.#abandonedSince.delete(id);
      else if (!this.#abandonedSince.has(id)) this.#abandonedSince.set(id, nowMs);
      else if (nowMs - (this.#abandonedSince.get(id) ?? nowMs) >= abandonedMs)
        this.refuse(call, 'the client went away');
    }
    for (const id of this.#abandonedSince.keys()) if (!this.#calls.has(id)) this.#abandonedSince.delete(id);
  }

  /** Sends a request of our own; rejects with what the server answers that is no result. */
  async request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const reply: Responder = {
      notify() {},
      answer(_text, { result, error }) {
        if (error === undefined) resolve(result);
        else reject(new RefusedRequest(method, error));
      },
    };
    if (!this.#isOpen) throw new Error('the server is not running');
    signal?.throwIfAborted();
    const call = this.#enter({ method, caller: this, reply, originalId: '0', originalToken: undefined });
    const give = (): void => {
      // A greeting must not be cancelled (MCP 2025-11-25, Cancellation, Behavior Requirements).
      if (this.#known === undefined) this.#calls.delete(call.id);
      else this.cancel(call, 'nobody needs it any more');
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', give, { once: true });
    this.#options.transport.send(JSON.stringify({ jsonrpc: '2.0', id: call.id, method, params }));
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', give);
    }
  }

  notify(text: string): void {
    if (this.#isOpen) this.#options.transport.send(text);
  }

  /** Answers a question of the server: with its id, in the place of whichever the answer had. */
  respond(question: Message, answer: { result: unknown } | { error: unknown }): void {
    const text = JSON.stringify(answer).slice(1);
    this.notify(`{"jsonrpc":"2.0","id":${idText(question)},${text}`);
  }

  /** Tells the server that its client cannot be asked this (MCP 2025-11-25, Lifecycle, Capability Negotiation). */
  decline(question: Message): void {
    const message = `the client does not offer ${question.value.method}`;
    this.respond(question, { error: { code: errorCodes.methodNotFound, message } });
  }

  callOf(caller: unknown, originalId: unknown): Call | undefined {
    return this.#calls
      .values()
      .find((call) => call.caller === caller && JSON.parse(call.originalId) === originalId);
  }

  /** Tells the server that nobody waits for a request any more; its answer is dropped. */
  cancel({ id }: Call, reason: string): void {
    if (!this.#calls.delete(id)) return;
    const params = { requestId: id, reason };
    this.notify(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  }

  /** The same for a request whose client is still there: it waits no longer than it has to. */
  refuse(call: Call, reason: string): void {
    this.cancel(call, reason);
    answerError(call.reply, call.originalId, errorCodes.serverError, reason);
  }

  /** Refuses everything of one caller. */
  refuseAllOf(caller: unknown, reason: string): void {
    for (const call of this.#calls.values()) if (call.caller === caller) this.refuse(call, reason);
  }

  /** Ends it because the server sends more than its budget allows. */
  #exceed(reason: string): void {
    if (!this.#isOpen) return;
    this.excess = reason;
    void this.close(`it ${reason}`).catch(this.#options.onFault);
  }

  /** Ends it because the server has: whoever waits is told why. */
  lose(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const lost = [...this.#calls.values()];
    this.#calls.clear();
    for (const { reply, originalId } of lost) {
      const message = `the server ended before it answered: ${reason}`;
      answerError(reply, originalId, errorCodes.serverError, message);
    }
    this.#options.owner.lost(this, reason);
  }

  async close(reason: string): Promise<void> {
    this.lose(reason);
    await this.#options.transport.close();
  }

  get #greeted(): { generation: ProtocolGeneration; identity: ServerIdentity } {
    if (this.#known === undefined) throw new Error('the server has not been greeted yet');
    return this.#known;
  }

  #enter(call: Omit<Call, 'id' | 'sinceMs'>): Call {
    const entered = { ...call, id: ++this.#lastId, sinceMs: performance.now() };
    this.#calls.set(entered.id, entered);
    this.lastUsedMs = entered.sinceMs;
    return entered;
  }

  #receive(said: string | Message, related: number | undefined): void {
    if (!this.#isOpen) return;
    if (typeof said !== 'string') return this.#take(said, related);
    let message: Message;
    try {
      message = readMessage(said);
    } catch (error) {
      return this.#drop(said, messageOf(error));
    }
    this.#take(message, related);
  }

  #take(message: Message, related: number | undefined): void {
    try {
      if (message.kind === 'response') this.#receiveResponse(message);
      else this.#receiveOther(message, related);
    } catch (error) {
      this.#options.onFault(error); // whatever one message did, the next one is read
    }
  }

  /** Reports what is no message. Whoever waits for it is told, if it can be known whose answer it was to be. */
  #drop(text: string, why: string): void {
    const excess = this.#options.input.reportInvalid(text);
    if (excess !== undefined) return this.#exceed(excess);
    const start = text.slice(0, 200);
    if (start.includes('"method"')) return;
    const [, id] = /^\{[^{}[\]]*"id"\s*:\s*(\d{1,15})\s*[,}]/.exec(start) ?? [];
    const call = id === undefined ? undefined : this.#calls.get(Number(id));
    if (call === undefined) return;
    this.#calls.delete(call.id);
    const message = `the server answered with something else than the protocol wants: ${why}`;
    answerError(call.reply, call.originalId, errorCodes.serverError, message);
  }

  #receiveResponse(message: Message): void {
    const { id } = message.value;
    const call = typeof id === 'number' ? this.#calls.get(id) : undefined;
    if (call === undefined) return; // cancelled meanwhile, or never asked
    this.#calls.delete(call.id);
    call.reply.answer(restate(message, { newId: call.originalId }), message.value);
  }

  #receiveOther(message: Message, related: number | undefined): void {
    const { method, params } = message.value;
    if (message.kind === 'notification' && method === 'notifications/progress') {
      const token = params?.['progressToken'];
      const call = typeof token === 'number' ? this.#calls.get(token) : undefined;
      if (call?.originalToken === undefined) return;
      call.reply.notify(restate(message, { newToken: call.originalToken }));
      return;
    }
    const call = this.#relatedCall(message, related);
    const { owner } = this.#options;
    if (message.kind === 'notification') owner.notified(message, call);
    else if (method === 'ping') this.respond(message, { result: {} });
    else owner.asked(this, message, call);
  }

  /** By the stream or the subscription that it came on, or because there is only one that it can be. */
  #relatedCall({ value }: Message, related: number | undefined): Call | undefined {
    const subscription = value.params?._meta?.[meta.subscriptionId];
    if (typeof subscription === 'number') return this.#calls.get(subscription);
    if (related !== undefined) return this.#calls.get(related);
    return this.#calls.size === 1 ? this.#calls.values().next().value : undefined;
  }
}

/** A request that was answered with an error. */
export class RefusedRequest extends Error {
  readonly error: { code: number; message: string; data?: unknown };

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    super(`the server refused ${method}: ${isObject(error) ? error.message : 'it did not say why'}`);
    this.error = error;
  }
}

/** Answers a request with an error; `id` is JSON text. */
export function answerError(
  reply: Responder,
  id: string,
  code: number,
  message: string,
  data?: object,
): void {
  reply.answer(errorText(id, code, message, data), { error: { code, message, data } });
}

/** Answers a request with a result of our own; `id` is JSON text. */
export function answerResult(reply: Responder, id: string, result: object): void {
  reply.answer(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`, { result });
}
