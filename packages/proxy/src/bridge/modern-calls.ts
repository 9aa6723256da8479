import { setTimeout as delay } from 'node:timers/promises';
import type { ServerConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import { answerError } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText, isObject, ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import { ModernCall } from './modern-call.ts';
import type { ModernRequest, Parking, PendingRequest, TaskCall } from './modern-call.ts';
import type { Seal } from '../sealing/seal.ts';

/** How many calls of one workload may wait for answers of clients. */
const maxParked = 100;

export interface ModernCallsOptions {
  pool: ConnectionPool;
  seal: Seal;
  messages: MessagePipeline;
  /** How long a client has to answer a server request. */
  clientAnswerMs: number;
  /** How long a list request waits for the previous list request. */
  listTurnMs: number;
  /** Told that the server asks a client. */
  onAsked: () => void;
  /** Takes notifications that concern more than the call in the course of which they come. */
  onChange: (notification: Message, principal: string) => unknown;
  /** Takes each connection that the call of a principal gets. */
  onConnection: (connection: ServerConnection, principal: string) => void;
  onFault: (error: unknown) => void;
}

/** A list that others wait for. */
interface Turn {
  /** Settles when the request has been sent to the server. */
  asked: Promise<void>;
  /** Settles when the list request is complete. */
  over: Promise<void>;
}

/**
 * Requests from modern clients during which a legacy server may ask the client. While the server waits for an answer,
 * the call is parked: the client receives the server's requests as the result and resumes the call with a new request
 * (MCP 2026-07-28, Multi Round-Trip Requests). Each call has an exclusive connection, so the proxy always knows which
 * client to ask.
 */
export class ModernCalls {
  readonly #options: ModernCallsOptions;
  readonly #parked = new Map<string, ModernCall>();
  /** The last list that was requested, by the key of its connection. */
  readonly #turns = new Map<string, Turn>();
  #lastId = 0;

  constructor(options: ModernCallsOptions) {
    this.#options = options;
  }

  /** Answers a request, finally or for the time being. With `task`, the server runs the call as a task. */
  accept(request: ModernRequest, responder: Responder, task?: TaskCall): PendingRequest {
    const { requestState } = request.message.value.params ?? {};
    return requestState === undefined
      ? this.#begin(request, responder, task)
      : this.#resume(request, responder, task);
  }

  /**
   * Answers a list request through a connection that declares this client's capabilities, because some servers list a
   * tool only for clients that they can ask. List requests run one at a time, so a client that sends several needs
   * only one process.
   */
  list(request: ModernRequest, responder: Responder): PendingRequest {
    const { pool, messages, clientAnswerMs, onAsked, onChange, onConnection, onFault } = this.#options;
    const { client, principal } = request.caller;
    const key = `lists ${canonical([principal.id, client.capabilities])}`;
    const shared = { messages, clientAnswerMs, onAsked, onChange, onConnection };
    const call = new ModernCall({ ...shared, request, responder, key });
    const asked = this.#turnAfter(this.#turns.get(key)).then(() => call.start(pool));
    const turn: Turn = { asked, over: asked.then(() => call.over).catch(onFault) };
    this.#turns.set(key, turn);
    turn.over
      .finally(() => {
        if (this.#turns.get(key) === turn) this.#turns.delete(key);
      })
      .catch(onFault);
    return call;
  }

  /**
   * Waits for the previous list request, but only for a limited time after it was sent, because a server that never
   * answers must not delay the others. After the limit, the next request gets a separate process.
   */
  async #turnAfter(before: Turn | undefined): Promise<void> {
    if (before === undefined) return;
    const settled = new AbortController();
    const { signal } = settled;
    const late = delay(this.#options.listTurnMs, undefined, { signal, ref: false }).catch(() => {});
    await Promise.race([before.over, Promise.allSettled([before.asked, late])]);
    settled.abort();
  }

  /** Cancels the call that this request would resume, if its client was asked something. */
  abandon(request: ModernRequest): void {
    this.#parkedCall(request, this.#contentOf(request))?.abandon();
  }

  /** Ends the processes that are kept for further calls over a connection of a client. */
  forget(clientConnection: string): void {
    this.#options.pool.endKept(keysOf(clientConnection));
  }

  close(reason: string): void {
    for (const call of this.#parked.values()) call.end(reason);
  }

  #begin(request: ModernRequest, responder: Responder, task: TaskCall | undefined): PendingRequest {
    const { pool, seal, messages, clientAnswerMs, onAsked, onChange, onConnection, onFault } = this.#options;
    const bound = boundTo(request);
    const id = String(++this.#lastId);
    const { caller, logLevel = '', sealedState = (state) => state } = request;
    const key = `${ownerOf(request)}${logLevel} ${canonical(caller.client.capabilities)}`;
    const parking: Parking = {
      park: (step) => {
        this.#parked.set(id, call);
        if (this.#parked.size > maxParked)
          this.#parked.values().next().value?.end('too many calls wait for answers');
        return sealedState(seal.seal(`${id} ${step}`, bound, clientAnswerMs));
      },
      unpark: () => {
        this.#parked.delete(id);
      },
      retryState: () => sealedState(seal.seal(retry, bound, clientAnswerMs)),
    };
    const shared = { messages, clientAnswerMs, onAsked, onChange, onConnection };
    const call = new ModernCall({ ...shared, request, responder, key, parking, task });
    call.start(pool).catch(onFault);
    return call;
  }

  #resume(request: ModernRequest, responder: Responder, task: TaskCall | undefined): PendingRequest {
    const content = this.#contentOf(request);
    // No call is parked: the client followed the instructions and now repeats the call.
    if (content === retry)
      return this.#begin({ ...request, message: withoutAnswers(request.message) }, responder, task);
    const call = this.#parkedCall(request, content);
    if (call === undefined) {
      const why =
        'requestState was already used, has expired, or belongs to another request. Repeat the call without requestState';
      answerError(responder, idText(request.message), errorCodes.invalidParams, why);
      return { cancel() {} };
    }
    call.resume(request, responder);
    return call;
  }

  /** The content of the state in a request. Undefined if this proxy did not seal it for such a request. */
  #contentOf(request: ModernRequest): string | undefined {
    const { requestState } = request.message.value.params ?? {};
    const sealed = typeof requestState === 'string' ? requestState : '';
    return this.#options.seal.unseal(sealed, boundTo(request));
  }

  /** The call that waits for this request. */
  #parkedCall({ caller }: ModernRequest, content: string | undefined): ModernCall | undefined {
    const [id = '', step] = content?.split(' ') ?? [];
    const call = this.#parked.get(id);
    return call !== undefined && String(call.step) === step && call.principal === caller.principal.id
      ? call
      : undefined;
  }
}

/** The sealed content for a call that must be made again. */
const retry = 'again';

/** The parts that a request must share with the call that it resumes. */
function boundTo({ message, caller }: ModernRequest): string {
  const { method, params = {} } = message.value;
  const { _meta, inputResponses: _responses, requestState: _state, ...salient } = params;
  return canonical([caller.principal.id, method, salient]);
}

/**
 * The caller that a process is kept for: a client that names itself, over any connection, and otherwise the
 * connection alone. Never another principal.
 */
function ownerOf({ caller, clientConnection, isConversation = false }: ModernRequest): string {
  const { client, principal } = caller;
  const { clientInfo } = client;
  return isObject(clientInfo) && !isConversation
    ? `calls of ${canonical([principal.id, clientInfo])} `
    : `${keysOf(clientConnection)}${canonical(principal.id)} `;
}

/** The start of the keys under which processes are kept for a connection of a client. */
function keysOf(clientConnection: string): string {
  return `calls over ${clientConnection} `;
}

function withoutAnswers({ value }: Message): Message {
  const { inputResponses: _responses, requestState: _state, ...params } = value.params ?? {};
  return ownMessage({ id: value.id, method: value.method ?? '', params });
}

/** Returns JSON with the members of objects in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
