import { messageOf } from '@toolhive/contract/failure';
import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, idText, isObject, ownMessage, readMessage, restate } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { readAnswer } from '../jsonrpc/repeated-answers.ts';
import { recoverMessages } from '../jsonrpc/recovery.ts';
import type { Recovered } from '../jsonrpc/recovery.ts';
import { listMethods, meta } from '../protocol/protocol.ts';
import type { ClientIdentity, ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import type { Transport } from '../transport/transport.ts';
import { Calls, tokenOf } from './calls.ts';
import type { Call } from './calls.ts';
import { answerError } from './responder.ts';
import type { Responder } from './responder.ts';
import { errorWithoutId } from './unread-request.ts';

/** How much a server may leave unread before requests are refused. */
const maxUnreadBytes = 32 * 1024 * 1024;

export type { Call } from './calls.ts';

/** Receives messages that a server sends on its own initiative. */
export interface ConnectionOwner {
  /** The server waits for a client that may never come back, so another client may take the connection. */
  readonly isParked?: boolean;
  /** A notification. `call` is the request that the notification belongs to, if known. */
  notified(notification: Message, call: Call | undefined): void;
  /** Takes a notification on a connection that was given back and is kept for the next owner with the same key. */
  notifiedLater?(notification: Message): void;
  /** A request of a legacy server. Its answer goes to `connection.respond`. */
  asked(connection: ServerConnection, request: Message, call: Call | undefined): void;
  /** The last request that was unanswered is answered or given up. */
  idle?(): void;
  /** The server has a new session, without what was set up in the old one. */
  renewed?(connection: ServerConnection): void;
  /** The connection has ended. Its calls were answered with errors. */
  lost(connection: ServerConnection, reason: string): void;
}

export interface ConnectionOptions {
  transport: Transport;
  owner: ConnectionOwner;
  /** The limits on server messages. */
  input: WorkloadInput;
  /** Told of bugs in this code. */
  onFault: (error: unknown) => void;
}

/**
 * One connection to a server. Every request gets a unique ID, so any number of clients can share the connection.
 * Answers and progress return under the client's ID. The owner receives everything else.
 */
export class ServerConnection {
  readonly #options: ConnectionOptions;
  readonly #calls = new Calls();
  #isOpen = true;
  /** Why the server must be stopped, phrased to follow "the server". Undefined if the server can continue. */
  excess: string | undefined;
  #peer: { generation: ProtocolGeneration; identity: ServerIdentity } | undefined;
  /** What the server was told about its client, if that holds for the whole connection. */
  client: ClientIdentity | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    options.transport.open({
      message: (received, related) => this.#receive(received, related),
      unreadable: (start, why) => this.#drop(start, why),
      exceeded: (reason) => this.#exceed(reason),
      renewed: () => options.owner.renewed?.(this),
      closed: (reason) => this.lose(reason),
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** A client is connected that waits for an answer. */
  get isAwaited(): boolean {
    return this.#calls.areAwaited;
  }

  /** When the last request was sent or answered. */
  get lastUsedMs(): number {
    return this.#calls.lastUsedMs;
  }

  /** How many requests are not answered yet. */
  get busy(): number {
    return this.#calls.size;
  }

  /** Throws before the handshake. */
  get generation(): ProtocolGeneration {
    return this.#knownPeer.generation;
  }

  /** What the server says about itself. Throws before the handshake. */
  get identity(): ServerIdentity {
    return this.#knownPeer.identity;
  }

  /** Takes the result of the handshake. */
  establish(generation: ProtocolGeneration, identity: ServerIdentity): void {
    this.#peer = { generation, identity };
    this.#options.transport.agree(identity.protocolVersion);
  }

  /** Forwards a client request. Returns undefined if the request cannot be sent and was answered with an error. */
  ask(request: Message, responder: Responder, caller?: unknown): Call | undefined {
    const excess = this.#excessOf(caller);
    if (excess !== undefined) {
      answerError(responder, idText(request), errorCodes.serverError, excess);
      return undefined;
    }
    const call = this.#calls.enter(request, responder, caller);
    const id = String(call.id);
    this.#options.transport.send(restate(request, { newId: id, newToken: id }));
    return call;
  }

  /** Refuses requests whose clients have been disconnected for this long. */
  giveUpAbandoned(abandonedMs: number): void {
    for (const call of this.#calls.abandonedFor(abandonedMs)) this.refuse(call, 'the client went away');
  }

  /** Sends a request of ToolHive itself. Rejects with `RefusedRequest` if the server answers with an error. */
  async request(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    if (!this.#isOpen) throw new Error('the server is not running');
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const request = ownMessage({ id: 0, method, params: { ...params } });
    const call = this.#calls.enter(request, settling(method, resolve, reject), this);
    const cancel = (): void => {
      // The handshake must not be cancelled (MCP 2025-11-25, Cancellation, Behavior Requirements).
      if (this.#peer === undefined) this.#delete(call);
      else this.cancel(call, 'the answer is not needed any more');
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    this.#options.transport.send(restate(request, { newId: String(call.id) }));
    try {
      return await promise;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  notify(notification: Message): void {
    if (this.#isOpen) this.#options.transport.send(this.#calls.noted(notification));
  }

  /** Answers a request of the server. */
  respond(request: Message, answer: { result: unknown } | { error: unknown }): void {
    if (!this.#isOpen) return;
    const content = JSON.stringify(answer).slice(1);
    this.#options.transport.send(readMessage(`{"jsonrpc":"2.0","id":${idText(request)},${content}`));
  }

  /** Answers that the client does not offer this (MCP 2025-11-25, Lifecycle, Capability Negotiation). */
  decline(request: Message): void {
    const message = `the client does not offer ${request.value.method}`;
    this.respond(request, { error: { code: errorCodes.methodNotFound, message } });
  }

  /** Returns a caller's call by the ID that the client chose. */
  callOf(caller: unknown, originalId: unknown): Call | undefined {
    return this.#calls.find(caller, originalId);
  }

  /** Tells the server that the answer is not needed any more. An answer that comes anyway is dropped. */
  cancel(call: Call, reason: string): void {
    if (!this.#delete(call)) return;
    const params = { requestId: call.id, reason };
    this.notify(ownMessage({ method: 'notifications/cancelled', params }));
  }

  /** Cancels a call and answers its client with an error. */
  refuse(call: Call, reason: string): void {
    this.cancel(call, reason);
    answerError(call.responder, idText(call.request), errorCodes.serverError, reason);
  }

  refuseAllOf(caller: unknown, reason: string): void {
    for (const call of this.#calls.of(caller)) this.refuse(call, reason);
  }

  /** Ends the connection because the server has ended. Every pending call is answered with the reason. */
  lose(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const message = `the server ended before answering: ${reason}`;
    for (const { responder, request } of this.#calls.clear())
      answerError(responder, idText(request), errorCodes.serverError, message);
    this.#options.owner.lost(this, reason);
  }

  async close(reason: string, options: { keepsSession?: boolean } = {}): Promise<void> {
    this.lose(reason);
    await this.#options.transport.close(options);
  }

  /** The ID of the server's session, which another connection can continue. */
  get session(): string | undefined {
    return this.#options.transport.session;
  }

  get #knownPeer(): { generation: ProtocolGeneration; identity: ServerIdentity } {
    if (this.#peer === undefined) throw new Error('the handshake is not over yet');
    return this.#peer;
  }

  /** Returns false if the call was already answered or abandoned. */
  #delete(call: Call): boolean {
    const isDeleted = this.#calls.delete(call);
    if (isDeleted && this.#calls.size === 0) this.#options.owner.idle?.();
    return isDeleted;
  }

  /** Returns why no further request can be sent. Refuses another call if only that makes room. */
  #excessOf(caller: unknown): string | undefined {
    if (!this.#isOpen) return 'the server is not running';
    const room = this.#calls.roomFor(caller);
    if ('excess' in room) return room.excess;
    if (room.refuse !== undefined)
      this.refuse(room.refuse, 'the server has not answered, and others are waiting');
    if (this.#options.transport.unreadBytes > maxUnreadBytes)
      return 'the server does not read its input. Try again later';
    return undefined;
  }

  /** Ends the connection because the server sends more than its budget allows. */
  #exceed(reason: string): void {
    if (!this.#isOpen) return;
    this.excess = reason;
    void this.close(`it ${reason}`).catch(this.#options.onFault);
  }

  #receive(received: string | Message, related: number | undefined): void {
    if (!this.#isOpen) return;
    if (typeof received !== 'string') return this.#dispatch(received, related);
    let message: Message;
    try {
      message = readAnswer(received, this.#isList);
    } catch (error) {
      return this.#recover(received, related, messageOf(error));
    }
    this.#dispatch(message, related);
  }

  /** Whether the request with an ID asks for a list. */
  readonly #isList = (id: number): boolean =>
    listMethods.has(this.#calls.get(id)?.request.value.method ?? '');

  #recover(text: string, related: number | undefined, why: string): void {
    const { messages, excess } = acceptedIn(text, this.#calls, this.#options.input);
    if (excess !== undefined) this.#exceed(excess);
    for (const message of messages) this.#dispatch(message, related);
    if (messages.length === 0) this.#drop(text, why);
  }

  #dispatch(message: Message, related: number | undefined): void {
    try {
      if (message.kind === 'response') this.#receiveResponse(message);
      else this.#receiveOther(message, related);
    } catch (error) {
      this.#options.onFault(error); // the messages that follow are not affected
    }
  }

  /** Reports text that is not a message. If the text was meant to answer a call, the client receives an error. */
  #drop(text: string, why: string): void {
    const excess = this.#options.input.reportInvalid(text);
    if (excess !== undefined) return this.#exceed(excess);
    const unread = errorWithoutId(text);
    const call = unread === undefined ? this.#calls.get(idIn(text)) : this.#calls.unread(unread.code);
    if (call === undefined || !this.#delete(call)) return;
    refuseWith(unread ?? violation(text, why), call);
  }

  #receiveResponse(response: Message): void {
    const call = this.#calls.get(response.value.id);
    if (call === undefined || !this.#delete(call)) return; // cancelled, or never asked
    if (typeof response.value.id === 'string') this.#options.input.tolerate('id');
    call.responder.answer(restate(response, { newId: idText(call.request) }));
  }

  #receiveOther(message: Message, related: number | undefined): void {
    const { method, params } = message.value;
    if (message.kind === 'notification' && method === 'notifications/progress') {
      const call = this.#calls.get(params?.['progressToken']);
      const newToken = call && tokenOf(call);
      if (newToken !== undefined) call?.responder.notify(restate(message, { newToken }));
      return;
    }
    const call = relatedCall(this.#calls, message, { related, generation: this.#peer?.generation });
    const { owner } = this.#options;
    if (message.kind === 'notification') owner.notified(message, call);
    else if (method === 'ping') this.respond(message, { result: {} });
    else owner.asked(this, message, call);
  }
}

function refuseWith(
  { code, message }: { code: number; message: string },
  { responder, request }: Call,
): void {
  answerError(responder, idText(request), code, message);
}

/** The error in place of an answer that cannot be read. */
function violation(text: string, why: string): { code: number; message: string } {
  const mistake = isUtf16(text) ? 'its output is UTF-16 instead of UTF-8' : why;
  return { code: errorCodes.serverError, message: `the server violated the protocol: ${mistake}` };
}

/** A responder of ToolHive itself. */
function settling(
  method: string,
  resolve: (result: unknown) => void,
  reject: (error: unknown) => void,
): Responder {
  return {
    notify() {},
    answer({ value: { result, error } }) {
      if (error === undefined) resolve(result);
      else reject(new RefusedRequest(method, error));
    },
  };
}

/** The messages in a text. Beside other text, only answers to open calls count, because a server may quote messages. */
function acceptedIn(
  text: string,
  calls: Calls,
  input: WorkloadInput,
): { messages: readonly Message[]; excess?: string | undefined } {
  const { messages: all, tolerances, around } = recoverMessages(text) ?? nothing;
  const isAnswer = ({ kind, value }: Message): boolean =>
    kind === 'response' && calls.get(value.id) !== undefined;
  const messages = around === '' ? all : all.filter(isAnswer);
  if (messages.length === 0) return { messages };
  for (const tolerance of tolerances) input.tolerate(tolerance);
  return { messages, excess: around === '' ? undefined : input.reportInvalid(around) };
}

const nothing: Recovered = { messages: [], tolerances: new Set(), around: '' };

/** Every second byte of ASCII in UTF-16 is zero. */
function isUtf16(text: string): boolean {
  return /^\0?.{0,4}(?:[^\0]\0){4}|^(?:\0[^\0]){4}/s.test(text);
}

/** The ID in a text that was meant to be an answer, at its start or at its end. */
function idIn(written: string): string | undefined {
  const text = isUtf16(written) ? written.replaceAll(/[\0\uFFFD]/g, '') : written;
  const [start, end] = [text.slice(0, 200), text.slice(-200)];
  if (start.includes('"method"')) return undefined;
  const first = /^\{[^{}[\]]*["']id["']\s*:\s*(\d{1,15})\s*[,}]/.exec(start)?.[1];
  if (first !== undefined || !/^\s*\{\s*"(?:jsonrpc|result|error)"/.test(start)) return first;
  return /[}\]"]\s*,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(end)?.[1];
}

/** Log messages of a modern server do not name the request, which must have asked for them (MCP 2026-07-28, Logging). */
function wantsLogs({ request }: Call): boolean {
  return request.value.params?._meta?.[meta.logLevel] !== undefined;
}

/** Found by the stream or the subscription that a message came on, or because there is only one call. */
function relatedCall(
  calls: Calls,
  { value }: Message,
  { related, generation }: { related: number | undefined; generation: ProtocolGeneration | undefined },
): Call | undefined {
  const subscription = value.params?._meta?.[meta.subscriptionId];
  if (typeof subscription === 'number') return calls.get(subscription);
  if (related !== undefined) return calls.get(related);
  const isLog = generation === 'modern' && value.method === 'notifications/message';
  return isLog ? calls.onlyWhere(wantsLogs) : calls.only;
}

/** The server answered a request with an error. */
export class RefusedRequest extends Error {
  readonly error: { code: number; message: string; data?: unknown };

  constructor(method: string, error: { code: number; message: string; data?: unknown }) {
    super(`the server refused ${method}: ${isObject(error) ? error.message : 'no reason given'}`);
    this.error = error;
  }
}
