import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@toolhive/contract/failure';
import { errorCodes, isObject, readMessage } from '../jsonrpc/message.ts';
import type { Message, MessageValue } from '../jsonrpc/message.ts';
import { answerError, answerResult } from '../connection/connection.ts';
import type { Call, ConnectionOwner, Responder, ServerConnection } from '../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../connection/pool.ts';
import { capabilityFor, isLoud, isOffered, mcpErrors } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { missingCapability, modernised } from './modern-result.ts';
import type { Seal } from './seal.ts';

/** What a server asks within this time of another question reaches the client together with that. */
const questionBatchMs = 25;
/** How many calls of one workload may wait for answers of clients. */
const maxParked = 100;
/** How many questions a server may have in the course of one call that nobody has answered. */
const maxQuestions = 100;

/** A request of a modern client, and what it said of itself in it. */
export interface ModernRequest {
  message: Message;
  client: ClientIdentity;
  /** It wants log messages of this level and worse. */
  logLevel?: string;
  /** Who asks, as far as that is known; the empty text for anybody who may use this machine. */
  principal: string;
  /** The connection that it came over. */
  connection: string;
}

/** Who holds a request, to give it up. */
export interface PendingRequest {
  giveUp(): void;
}

export interface ModernCallsOptions {
  pool: ConnectionPool;
  seal: Seal;
  /** How long a client has to answer what it was asked. */
  patienceMs: number;
  /** How long a list waits for the one before it. */
  listTurnMs: number;
  /** Told what a server says that concerns more than the call in the course of which it says it. */
  onNews: (message: Message) => void;
  onFault: (error: unknown) => void;
}

/** A list that others wait for. */
interface Turn {
  /** Settles when it was handed to the server. */
  asked: Promise<void>;
  /** Settles when nothing more of it is to come. */
  over: Promise<void>;
}

/**
 * Requests of modern clients in the course of which a legacy server may ask them something. While it waits for the
 * answer, the call is parked: the client is told what is asked, and comes back with a new request, which takes up
 * the old one (MCP 2026-07-28, Multi Round-Trip Requests). Each has the conversation with its server to itself, so
 * that it is certain whom the server asks.
 */
export class ModernCalls {
  readonly #options: ModernCallsOptions;
  readonly #parked = new Map<string, ModernCall>();
  /** By what a client can do: the last list that one of them asked for. */
  readonly #turns = new Map<string, Turn>();
  #lastId = 0;

  constructor(options: ModernCallsOptions) {
    this.#options = options;
  }

  /** Answers the request, in the end or for now. */
  accept(request: ModernRequest, reply: Responder): PendingRequest {
    const { requestState } = request.message.value.params ?? {};
    return requestState === undefined
      ? this.#begin(request, reply)
      : this.#resume(request, requestState, reply);
  }

  /**
   * Answers with a list, from a server that was told what this client can do: some offer a tool only to those whom it
   * can ask. One after the other, so that a client which wants all lists at once takes one process for them.
   */
  list(request: ModernRequest, reply: Responder): PendingRequest {
    const { pool, patienceMs, onNews, onFault } = this.#options;
    const key = `lists ${canonical(request.client.capabilities)}`;
    const call = new ModernCall({ request, reply, key, patienceMs, onNews });
    const asked = this.#turnAfter(this.#turns.get(key)).then(() => call.start(pool));
    const turn: Turn = { asked, over: asked.then(() => call.over).catch(onFault) };
    this.#turns.set(key, turn);
    void turn.over.finally(() => {
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
    });
    return call;
  }

  /**
   * Returns when it is the turn of the list after this one. A server that never answers a list must not keep all
   * others waiting: after a while the next one goes on with a process of its own. The start of a process takes its
   * time, and is waited for as long as that takes.
   */
  async #turnAfter(before: Turn | undefined): Promise<void> {
    if (before === undefined) return;
    const settled = new AbortController();
    const { signal } = settled;
    const late = delay(this.#options.listTurnMs, undefined, { signal, ref: false }).catch(() => {});
    await Promise.race([before.over, Promise.allSettled([before.asked, late])]);
    settled.abort();
  }

  /** Ends the processes that are kept for the next call over a connection. */
  forget(connection: string): void {
    this.#options.pool.endKept(keysOf(connection));
  }

  close(reason: string): void {
    for (const call of this.#parked.values()) call.end(reason);
  }

  #begin(request: ModernRequest, reply: Responder): PendingRequest {
    const { pool, seal, patienceMs, onNews, onFault } = this.#options;
    const bound = boundTo(request);
    const id = String(++this.#lastId);
    const { client, logLevel = '' } = request;
    const key = `${ownerOf(request)}${logLevel} ${canonical(client.capabilities)}`;
    const parking: Parking = {
      park: (step) => {
        this.#parked.set(id, call);
        if (this.#parked.size > maxParked)
          this.#parked.values().next().value?.end('too many calls wait for answers');
        return seal.close(`${id} ${step}`, bound, patienceMs);
      },
      unpark: () => void this.#parked.delete(id),
      retry: () => seal.close('again', bound, patienceMs),
    };
    const call = new ModernCall({ request, reply, key, patienceMs, onNews, parking });
    call.start(pool).catch(onFault);
    return call;
  }

  #resume(request: ModernRequest, requestState: unknown, reply: Responder): PendingRequest {
    const sealed = typeof requestState === 'string' ? requestState : '';
    const content = this.#options.seal.open(sealed, boundTo(request));
    // Nothing waits: the client has done what it was told to, and the call is made anew.
    if (content === 'again')
      return this.#begin({ ...request, message: withoutAnswers(request.message) }, reply);
    const [id = '', step] = content?.split(' ') ?? [];
    const call = this.#parked.get(id);
    if (call === undefined || String(call.step) !== step) {
      const why =
        'requestState was used before, has expired, or belongs to another request: call again without it';
      answerError(reply, written(request.message), errorCodes.invalidParams, why);
      return { giveUp() {} };
    }
    call.resume(request, reply);
    return call;
  }
}

interface ModernCallOptions {
  request: ModernRequest;
  reply: Responder;
  patienceMs: number;
  onNews: (message: Message) => void;
  /** What the process that it needs can be used for again. */
  key: string;
  /** Absent for a request in the course of which the client cannot be asked. */
  parking?: Parking;
}

interface Parking {
  /** Has it remembered, and gives back the state that finds it again. */
  park: (step: number) => string;
  unpark: () => void;
  /** The state for a call that is to be made anew. */
  retry: () => string;
}

class ModernCall implements ConnectionOwner, PendingRequest {
  /** How often the client was asked. */
  step = 0;
  /** Settles when there is nothing more to come. */
  readonly over: Promise<void>;
  readonly #options: ModernCallOptions;
  readonly #settle: () => void;
  /** Where the client waits; nowhere while the call is parked. */
  #reply: Responder | undefined;
  #message: Message;
  #own: OwnConnection | undefined;
  #call: Call | undefined;
  #isOver = false;
  #patience: NodeJS.Timeout | undefined;
  #batchTimer: NodeJS.Timeout | undefined;
  /** What the server has asked and nobody has answered. */
  readonly #questions = new Map<string, Message>();
  #lastQuestion = 0;

  constructor(options: ModernCallOptions) {
    this.#options = options;
    this.#reply = options.reply;
    this.#message = options.request.message;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#settle = resolve;
  }

  async start(pool: ConnectionPool): Promise<void> {
    const { key, request } = this.#options;
    const { client, logLevel } = request;
    if (this.#isOver) return;
    try {
      const own = await pool.take(this, client, key);
      if (this.#isOver) return own.giveBack(key);
      this.#own = own;
      const { connection } = own;
      if (logLevel !== undefined && connection.identity.capabilities['logging'] !== undefined) {
        connection.request('logging/setLevel', { level: logLevel }).catch(() => {}); // then it logs as it likes
      }
      this.#call = connection.ask(this.#message, {
        notify: (text) => this.#reply?.notify(text),
        answer: (text, value) => this.#answered(text, value, connection),
      });
    } catch (error) {
      this.end(messageOf(error));
    }
  }

  notified(message: Message): void {
    const { method, params } = message.value;
    const { logLevel } = this.#options.request;
    if (method !== 'notifications/message') return this.#options.onNews(message);
    if (logLevel !== undefined && isLoud(params?.['level'], logLevel)) this.#reply?.notify(message.text);
  }

  asked(connection: ServerConnection, question: Message): void {
    const { request, parking } = this.#options;
    const { method = '' } = question.value;
    if (parking === undefined) return connection.decline(question);
    if (!isOffered(request.client, method)) {
      connection.decline(question);
      const required = capabilityFor[method];
      if (required === undefined || this.#reply === undefined) return;
      missingCapability(this.#reply, written(this.#message), required);
      return this.#over(undefined);
    }
    if (this.#questions.size >= maxQuestions) {
      const message = 'the client has not answered the questions before this one';
      return connection.respond(question, { error: { code: errorCodes.serverError, message } });
    }
    this.#questions.set(`q${++this.#lastQuestion}`, question);
    clearTimeout(this.#batchTimer);
    this.#batchTimer = setTimeout(() => this.#park(), questionBatchMs);
  }

  /** The client was asked something, and is to come back with the answer. */
  get isParked(): boolean {
    return this.#reply === undefined && this.#questions.size > 0;
  }

  lost(_link: ServerConnection, reason: string): void {
    this.#own = undefined;
    this.end(reason);
  }

  giveUp(): void {
    // Whoever was asked something closes the connection too, and comes back over another one.
    if (this.#reply !== undefined) this.#over(undefined);
  }

  /** Gives the answers to the server, and waits for what it says to them. */
  resume({ message }: ModernRequest, reply: Responder): void {
    clearTimeout(this.#patience);
    this.#options.parking?.unpark();
    this.#reply = reply;
    this.#message = message;
    const { id, originalToken } = originalOf(message);
    if (this.#call !== undefined) Object.assign(this.#call, { originalId: id, originalToken });
    const { inputResponses } = message.value.params ?? {};
    for (const [key, question] of this.#questions) {
      const answer = isObject(inputResponses) ? inputResponses[key] : undefined;
      if (answer === undefined) continue;
      this.#questions.delete(key);
      this.#own?.connection.respond(question, { result: answer });
    }
    this.#park();
  }

  /** Answers whoever waits with why there is no answer. */
  end(reason: string): void {
    if (this.#reply !== undefined && !this.#isOver) {
      answerError(this.#reply, written(this.#message), errorCodes.serverError, reason);
    }
    this.#over(undefined);
  }

  /** Tells the client what it is asked, if it is asked anything and there is anybody to be told. */
  #park(): void {
    const { parking } = this.#options;
    const reply = this.#reply;
    if (this.#questions.size === 0 || reply === undefined || parking === undefined || this.#isOver) return;
    this.#reply = undefined;
    this.step++;
    const requestState = parking.park(this.step);
    this.#patience = setTimeout(
      () => this.end('the client has not answered in time'),
      this.#options.patienceMs,
    ).unref();
    const inputRequests = Object.fromEntries(
      this.#questions
        .entries()
        .map(([key, { value }]) => [key, { method: value.method, params: value.params }]),
    );
    answerResult(reply, written(this.#message), {
      resultType: 'input_required',
      inputRequests,
      requestState,
    });
  }

  #answered(text: string, value: MessageValue, connection: ServerConnection): void {
    const reply = this.#reply;
    const { parking, key } = this.#options;
    const elicitations = this.#elicitationsIn(value);
    const { method = '' } = this.#message.value;
    this.#call = undefined;
    this.#over(key);
    if (reply === undefined) return;
    if (elicitations === undefined || parking === undefined)
      return reply.answer(modernised(text, value, method, connection.identity), value);
    const inputRequests = Object.fromEntries(
      elicitations.map((params, n) => [`q${n}`, { method: 'elicitation/create', params }]),
    );
    const requestState = parking.retry();
    answerResult(reply, written(this.#message), {
      resultType: 'input_required',
      inputRequests,
      requestState,
    });
  }

  /** What 2025-11-25 has an error for: the client has to visit pages first, and to call again. */
  #elicitationsIn({ error }: MessageValue): unknown[] | undefined {
    if (error?.code !== mcpErrors.legacyUrlElicitation || !isObject(error.data)) return undefined;
    const { elicitation } = this.#options.request.client.capabilities;
    const { elicitations } = error.data;
    const isTaken = isObject(elicitation) && elicitation['url'] !== undefined;
    return isTaken && Array.isArray(elicitations) ? elicitations : undefined;
  }

  /** With a `key`, the conversation can be used again; without, who knows what the server still does in it. */
  #over(key: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#patience);
    clearTimeout(this.#batchTimer);
    this.#options.parking?.unpark();
    if (this.#call !== undefined) this.#own?.connection.cancel(this.#call, 'the client gave it up');
    this.#own?.giveBack(key);
    this.#own = undefined;
    this.#reply = undefined;
    this.#settle();
  }
}

function written(message: Message): string {
  return originalOf(message).id;
}

function originalOf({ text, id, token }: Message): { id: string; originalToken: string | undefined } {
  return { id: id === undefined ? 'null' : text.slice(...id), originalToken: token && text.slice(...token) };
}

/** What a request must have in common with the one that it takes up. */
function boundTo({ message, principal }: ModernRequest): string {
  const { method, params = {} } = message.value;
  const { _meta, inputResponses: _responses, requestState: _state, ...salient } = params;
  return canonical([principal, method, salient]);
}

/**
 * For whom a process is kept: for a client that names itself, over whichever connection it calls next, and
 * otherwise for the connection alone.
 */
function ownerOf({ client, principal, connection }: ModernRequest): string {
  const { clientInfo } = client;
  return isObject(clientInfo) ? `calls of ${canonical([principal, clientInfo])} ` : keysOf(connection);
}

/** How the keys begin under which processes are kept for a connection. */
function keysOf(connection: string): string {
  return `calls over ${connection} `;
}

function withoutAnswers({ value }: Message): Message {
  const { inputResponses: _responses, requestState: _state, ...params } = value.params ?? {};
  return readMessage(JSON.stringify({ jsonrpc: '2.0', id: value.id, method: value.method, params }));
}

/** JSON with the members of objects in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
