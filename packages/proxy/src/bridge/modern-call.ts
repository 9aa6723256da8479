import { messageOf } from '@toolhive/contract/failure';
import type { Call, ConnectionOwner, ServerConnection } from '../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../connection/pool.ts';
import { answerError, answerResult } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText, isObject, ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller, Refusal } from '../middleware/middleware.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { capabilityFor, isLoud, isOffered, isOptional, mcpErrors } from '../protocol/protocol.ts';
import { clientResponse } from './input-required.ts';
import { asTask } from './tasks/forms.ts';
import { createdMessage, maxTaskMs } from './tasks/tasks-for-modern.ts';
import type { TasksForModern } from './tasks/tasks-for-modern.ts';
import { missingCapability, modernized } from './modern-result.ts';

/** Requests that a server sends within this time of each other reach the client together. */
const batchMs = 25;
/** How often a connection is taken that is lost before its first message. */
const maxTakes = 5;
/** How many requests of the server may be unanswered in one call. */
const maxServerRequests = 100;

/** A modern client's request and the client information that it contains. */
export interface ModernRequest {
  message: Message;
  caller: Caller;
  /** The lowest level of log messages that the client wants. */
  logLevel?: string;
  /** The name of the connection that the request came over. */
  clientConnection: string;
  /** The connection is the only client that may use what the request sets up, whatever the client is called. */
  isConversation?: boolean;
  /** Returns the state for a client whose next request may reach another proxy. By default, the same state. */
  sealedState?: (state: string) => string;
  /** Returns why the headers do not match the parameters of the tool, if they do not. */
  refusalFor: (mirrored: readonly MirroredParameter[]) => Refusal | undefined;
}

/** A call that the server runs as a task. */
export interface TaskCall {
  tasks: TasksForModern;
  /** The client takes a task. Otherwise the call waits for the end of the task. */
  isForClient: boolean;
}

/** A request under way. */
export interface PendingRequest {
  /** The client does not wait for the answer any more. */
  cancel(): void;
}

export interface ModernCallOptions {
  request: ModernRequest;
  responder: Responder;
  messages: MessagePipeline;
  clientAnswerMs: number;
  /** Told that the server asks the client. */
  onAsked: () => void;
  /** Takes notifications that concern more than this call. */
  onChange: (notification: Message, principal: string) => void;
  /** Takes the connection of the call before its request is sent. */
  onConnection: (connection: ServerConnection, principal: string) => void;
  /** Under this key, the connection that the call needs can be used again. */
  key: string;
  /** Absent for a request in the course of which the client cannot be asked. */
  parking?: Parking;
  task?: TaskCall | undefined;
}

/** Keeps a call whose client was asked something until the client comes back. */
export interface Parking {
  /** Returns the state that finds the call again. */
  park: (step: number) => string;
  unpark: () => void;
  /** Returns the state for a call that must be made again. */
  retryState: () => string;
}

/** The error code for a user who refuses sampling (MCP 2025-11-25, Sampling, Error Handling). */
const userRejected = -1;
export const canceled = 'the client canceled the request';

/** One request from a modern client to a legacy server, on a separate connection. */
export class ModernCall implements ConnectionOwner, PendingRequest {
  /** How often the client was asked. */
  step = 0;
  /** Settles when the call is over. */
  readonly over: Promise<void>;
  readonly #options: ModernCallOptions;
  readonly #settle: () => void;
  /** Where the client waits. Undefined while the call is parked. */
  #responder: Responder | undefined;
  #request: Message;
  #own: OwnConnection | undefined;
  #call: Call | undefined;
  /** The server's ID of the task that the call waits for. */
  #awaited: string | undefined;
  #isOver = false;
  #answerTimer: NodeJS.Timeout | undefined;
  #batchTimer: NodeJS.Timeout | undefined;
  /** The requests of the server that are not answered yet, by their key in `inputRequests`. */
  readonly #serverRequests = new Map<string, Message>();
  #lastServerRequest = 0;
  /** The capability that the server asked for, although the client has not declared it. */
  #missing: string | undefined;

  constructor(options: ModernCallOptions) {
    this.#options = options;
    this.#responder = options.responder;
    this.#request = options.request.message;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#settle = resolve;
  }

  /** Principals never take over each other's calls. */
  get principal(): string {
    return this.#options.request.caller.principal.id;
  }

  async start(pool: ConnectionPool): Promise<void> {
    const { key, request } = this.#options;
    const { caller, logLevel } = request;
    if (this.#isOver) return;
    try {
      let own = await pool.take(this, caller.client, { key });
      // Another client may have needed its place before anything was sent.
      for (let tries = 1; !own.connection.isOpen && tries < maxTakes; tries++)
        own = await pool.take(this, caller.client, { key });
      if (this.#isOver) return own.giveBack(key);
      this.#own = own;
      const { connection } = own;
      if (logLevel !== undefined && connection.identity.capabilities['logging'] !== undefined) {
        connection.request('logging/setLevel', { level: logLevel }).catch(() => {}); // the connection keeps its level
      }
      this.#options.onConnection(connection, this.principal);
      const asked = this.#options.task === undefined ? this.#request : asTask(this.#request, maxTaskMs);
      this.#ask(connection, asked);
    } catch (error) {
      this.end(messageOf(error));
    }
  }

  #ask(connection: ServerConnection, request: Message): void {
    this.#call = connection.ask(request, {
      notify: (notification) => this.#responder?.notify(notification),
      answer: (response) => this.#answered(response, connection),
    });
  }

  notified(notification: Message): void {
    const { method, params } = notification.value;
    const { logLevel } = this.#options.request;
    if (method !== 'notifications/message') return this.notifiedLater(notification);
    if (logLevel !== undefined && isLoud(params?.['level'], logLevel)) this.#responder?.notify(notification);
  }

  /** A process that is kept for further calls can still report changes. */
  notifiedLater(notification: Message): void {
    this.#options.onChange(notification, this.principal);
  }

  asked(connection: ServerConnection, request: Message): void {
    const { request: own, parking } = this.#options;
    const { method = '' } = request.value;
    this.#options.onAsked();
    if (parking === undefined) return connection.decline(request);
    if (!isOffered(own.caller.client, method)) {
      connection.decline(request);
      this.#missing = capabilityFor[method];
      if (isOptional(method) || this.#missing === undefined || this.#responder === undefined) return;
      missingCapability(this.#responder, idText(this.#request), this.#missing);
      return this.#end(undefined);
    }
    if (this.#serverRequests.size >= maxServerRequests) {
      const message = 'the client has not answered the earlier requests';
      return connection.respond(request, { error: { code: errorCodes.serverError, message } });
    }
    this.#passToClient(connection, request, method);
  }

  /** The client was asked something, and must come back with the answer. */
  get isParked(): boolean {
    return this.#responder === undefined && this.#serverRequests.size > 0;
  }

  lost(connection: ServerConnection, reason: string): void {
    if (this.#own?.connection !== connection) return; // not in use yet, so `start` takes another one
    this.#own = undefined;
    this.end(reason);
  }

  cancel(): void {
    // A client that was asked something closes its connection too, and comes back over another one.
    // The server sees the cancellation, and keeps what the client's earlier calls have set up.
    if (this.#responder !== undefined) this.#end(this.#options.key);
  }

  /** The client that was asked something does not come back. Nothing at the server keeps waiting for it. */
  abandon(): void {
    const connection = this.#own?.connection;
    if (this.#call !== undefined) connection?.cancel(this.#call, canceled);
    for (const request of this.#serverRequests.values()) connection?.respond(request, refusalOf(request));
    this.#end(this.#options.key);
  }

  /** Forwards the client's answers to the server, and waits for the next message. */
  resume({ message }: ModernRequest, responder: Responder): void {
    clearTimeout(this.#answerTimer);
    this.#options.parking?.unpark();
    this.#responder = responder;
    this.#request = message;
    if (this.#call !== undefined) this.#call.request = message;
    const { inputResponses } = message.value.params ?? {};
    for (const [key, request] of this.#serverRequests) {
      const answer = isObject(inputResponses) ? inputResponses[key] : undefined;
      if (answer !== undefined) this.#passToServer(key, request, answer);
    }
    this.#park();
  }

  /** Tells the waiting client why no answer will follow. */
  end(reason: string): void {
    if (this.#responder !== undefined && !this.#isOver) {
      answerError(this.#responder, idText(this.#request), errorCodes.serverError, reason);
    }
    this.#end(undefined);
  }

  #passToClient(connection: ServerConnection, request: Message, method: string): void {
    const { messages, request: own } = this.#options;
    const key = `q${++this.#lastServerRequest}`;
    const collect = (passed: Message): void => {
      this.#serverRequests.set(key, passed);
      clearTimeout(this.#batchTimer);
      this.#batchTimer = setTimeout(() => this.#park(), batchMs);
    };
    if (messages.isEmpty) return collect(request);
    const asked = ownMessage({ id: key, method, params: request.value.params });
    messages.toClient(own.caller, asked, own.message, (outcome) => {
      if (this.#isOver) return;
      if (outcome.kind === 'refusal') {
        const { code, message, data } = outcome;
        return connection.respond(request, { error: { code, message, data } });
      }
      collect({ ...request, value: { ...request.value, params: outcome.value.params } });
    });
  }

  #passToServer(key: string, request: Message, result: unknown): void {
    const { messages, request: own } = this.#options;
    this.#serverRequests.delete(key);
    if (messages.isEmpty) return this.#own?.connection.respond(request, { result });
    messages.toServer(own.caller, clientResponse(key, result), request, (outcome) => {
      if (outcome.kind !== 'refusal') {
        return this.#own?.connection.respond(request, { result: outcome.value.result });
      }
      const { code, message, data } = outcome;
      this.#own?.connection.respond(request, { error: { code, message, data } });
    });
  }

  /** Answers the client with the requests of the server, if there are any and a client waits. */
  #park(): void {
    const { parking } = this.#options;
    const responder = this.#responder;
    if (this.#serverRequests.size === 0 || responder === undefined || parking === undefined || this.#isOver)
      return;
    this.#responder = undefined;
    this.step++;
    const requestState = parking.park(this.step);
    this.#answerTimer = setTimeout(
      () => this.end('the client has not answered in time'),
      this.#options.clientAnswerMs,
    ).unref();
    answerResult(responder, idText(this.#request), inputRequired(this.#serverRequests, requestState));
  }

  /** Continues with the task that the server has begun, if any. Returns whether there is one. */
  #begunTask({ value: { result } }: Message, connection: ServerConnection): boolean {
    const { task, key, request } = this.#options;
    const { task: begun, _meta } = isObject(result) ? result : {};
    if (task === undefined || this.#awaited !== undefined || this.#own === undefined || !isObject(begun))
      return false;
    if (!task.isForClient) {
      this.#awaited = String(begun['taskId']);
      this.#ask(connection, resultRequest(this.#request, this.#awaited));
      return true;
    }
    const [answered, responder] = [this.#request, this.#responder];
    try {
      const adopted = task.tasks.adopt(begun, request.caller, this.#own);
      this.#end(key);
      responder?.answer(createdMessage(answered, adopted, _meta));
    } catch (error) {
      this.end(messageOf(error));
    }
    return true;
  }

  #answered(response: Message, connection: ServerConnection): void {
    this.#call = undefined;
    if (this.#begunTask(response, connection)) return;
    const responder = this.#responder;
    const { parking, key } = this.#options;
    const elicitations = elicitationsIn(response, this.#options.request.caller);
    const { method = '' } = this.#request.value;
    this.#awaited = undefined;
    this.#end(key);
    if (responder === undefined) return;
    if (response.value.error !== undefined && this.#missing !== undefined)
      return missingCapability(responder, idText(this.#request), this.#missing);
    if (elicitations === undefined || parking === undefined)
      return responder.answer(modernized(response, method, connection.identity));
    answerResult(responder, idText(this.#request), visitsRequired(elicitations, parking.retryState()));
  }

  /** With a `key`, the connection can be reused. Without a key, the server may still be working on the call. */
  #end(key: string | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#answerTimer);
    clearTimeout(this.#batchTimer);
    this.#options.parking?.unpark();
    if (this.#call !== undefined) this.#own?.connection.cancel(this.#call, canceled);
    if (this.#awaited !== undefined && this.#own?.connection.isOpen === true)
      this.#own.connection.request('tasks/cancel', { taskId: this.#awaited }).catch(() => {}); // it may be over
    this.#own?.giveBack(key);
    this.#own = undefined;
    this.#responder = undefined;
    this.#settle();
  }
}

/** The response for a user who dismisses a request (MCP 2025-11-25, Elicitation, Response Actions). */
function refusalOf({ value: { method } }: Message): { result: unknown } | { error: unknown } {
  return method === 'elicitation/create'
    ? { result: { action: 'cancel' } }
    : { error: { code: userRejected, message: 'the user rejected the request' } };
}

/** The result that asks a client for answers to requests of the server, by their keys. */
function inputRequired(requests: ReadonlyMap<string, Message>, requestState: string): object {
  const inputRequests = Object.fromEntries(
    requests.entries().map(([key, { value }]) => [
      key,
      { method: value.method, params: value.params ?? {} }, // a widely used SDK requires the member
    ]),
  );
  return { resultType: 'input_required', inputRequests, requestState };
}

/** The same for pages that the client must visit. */
function visitsRequired(elicitations: readonly unknown[], requestState: string): object {
  const inputRequests = Object.fromEntries(
    elicitations.map((params, n) => [`q${n}`, { method: 'elicitation/create', params }]),
  );
  return { resultType: 'input_required', inputRequests, requestState };
}

/** The pages that the client must visit before repeating the call. In 2025-11-25, an error reports these pages. */
function elicitationsIn({ value: { error } }: Message, { client }: Caller): unknown[] | undefined {
  if (error?.code !== mcpErrors.legacyUrlElicitation || !isObject(error.data)) return undefined;
  const { elicitation } = client.capabilities;
  const { elicitations } = error.data;
  const isSupported = isObject(elicitation) && elicitation['url'] !== undefined;
  return isSupported && Array.isArray(elicitations) ? elicitations : undefined;
}

/** Returns the request for the result of the task that a call has become. */
function resultRequest({ value: { id } }: Message, taskId: string): Message {
  return ownMessage({ id, method: 'tasks/result', params: { taskId } });
}
