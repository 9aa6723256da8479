import { abandonKey } from '@toolhive/contract/mcp-meta';
import type { Call, ServerConnection } from '../connection/connection.ts';
import { answerError, answerResult, answerUnknown, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller } from '../middleware/middleware.ts';
import {
  askingMethods,
  canBeAsked,
  isAboutTasks,
  legacyOnlyMethods,
  listMethods,
  mcpErrors,
} from '../protocol/protocol.ts';
import type { ServerIdentity } from '../protocol/protocol.ts';
import { withoutClientMeta } from './client-meta.ts';
import { passInput } from './input-required.ts';
import { canceled } from './modern-call.ts';
import type { ModernRequest, PendingRequest, TaskCall } from './modern-call.ts';
import type { ModernCalls } from './modern-calls.ts';
import { discoverResult, modernized, withAllVersions } from './modern-result.ts';
import type { Sharing } from './sharing.ts';
import { Subscription, filterFrom, granted, maxUris } from './subscriptions.ts';
import type { Filter, Subscriptions } from './subscriptions.ts';
import { declaresTasks, offersLegacyTasks, requiredExtension, withoutTaskParameter } from './tasks/forms.ts';
import { watchTask } from './tasks/watch-task.ts';
import { forModernClient } from './tasks/offers.ts';
import type { TasksForModern } from './tasks/tasks-for-modern.ts';
import type { ToolCallRules, ToolParameters } from './tool-parameters.ts';

export interface ModernRouterOptions {
  calls: ModernCalls;
  subscriptions: Subscriptions;
  messages: MessagePipeline;
  toolParameters: ToolParameters;
  sharing: Sharing;
  tasks: TasksForModern;
}

/** Routes requests from modern clients. Each request is independent. */
export class ModernRouter {
  readonly #options: ModernRouterOptions;

  constructor(options: ModernRouterOptions) {
    this.#options = options;
  }

  request(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    const { message } = request;
    const { method = '' } = message.value;
    const isLegacy = shared.generation === 'legacy';
    if (legacyOnlyMethods.has(method) || (isLegacy && isAboutTasks(method) && !this.#hasTasks(shared))) {
      answerUnknown(message, responder);
      return nothingPending;
    }
    if (isAbandoned(message)) {
      this.#options.calls.abandon(request);
      answerError(responder, idText(message), errorCodes.serverError, canceled);
      return nothingPending;
    }
    if (method === 'subscriptions/listen') return this.#listen(request, responder, shared);
    if (method === 'tools/call') return this.#callTool(request, responder, shared);
    return this.#ask(request, responder, shared);
  }

  /** The tasks of a legacy server that the proxy follows for a client. A modern server tells of its tasks itself. */
  #followed({ taskIds = [] }: Filter, shared: ServerConnection): string[] {
    if (shared.generation !== 'legacy' || !this.#hasTasks(shared)) return [];
    return taskIds.filter((id) => this.#options.tasks.isKnown(id));
  }

  #follow(
    task: string,
    caller: Caller,
    identity: ServerIdentity,
    subscription: Subscription,
    signal: AbortSignal,
  ): void {
    const { tasks } = this.#options;
    const changed = (notification: Message): void => subscription.changed(notification);
    // If the server refuses, the next request of the client about the task shows why.
    watchTask({ tasks, caller, identity }, task, changed, signal).catch(() => {});
  }

  #ask(
    request: ModernRequest,
    responder: Responder,
    shared: ServerConnection,
    rules?: ToolCallRules,
  ): PendingRequest {
    if (shared.generation === 'modern') return this.#askModern(request, responder, shared);
    const plain = withoutClientMeta(request.message);
    if (isAboutTasks(plain.value.method))
      return this.#askAboutTask({ ...request, message: plain }, responder, shared);
    // In this protocol version, clients do not ask for tasks.
    const message = rules === undefined ? plain : withoutTaskParameter(plain);
    return this.#askLegacy(
      { ...request, message },
      responder,
      shared,
      this.#taskCall(request, shared, rules),
    );
  }

  /** Whether modern clients can use the tasks of a legacy server, which belong to a connection. */
  #hasTasks({ identity }: ServerConnection): boolean {
    return this.#options.sharing.mayBeSeparate && offersLegacyTasks(identity);
  }

  /** How a tool of a legacy server becomes a task: if its client takes tasks, or if the tool cannot be called otherwise. */
  #taskCall(
    { caller }: ModernRequest,
    shared: ServerConnection,
    { taskSupport }: Pick<ToolCallRules, 'taskSupport'> = { taskSupport: 'forbidden' },
  ): TaskCall | undefined {
    if (taskSupport === 'forbidden' || !this.#hasTasks(shared)) return undefined;
    const isForClient = declaresTasks(caller.client);
    if (!isForClient && taskSupport === 'optional') return undefined;
    return { tasks: this.#options.tasks, isForClient };
  }

  #excessOf(
    request: ModernRequest,
    shared: ServerConnection,
    rules: ToolCallRules,
  ): { code: number; message: string; data?: object } | undefined {
    const task = shared.generation === 'legacy' ? this.#taskCall(request, shared, rules) : undefined;
    const excess = task?.isForClient === true ? task.tasks.excessOf(request.caller) : undefined;
    return excess === undefined ? undefined : { code: errorCodes.serverError, message: excess };
  }

  /** What the server asks in the course of a task passes the middleware like any other request of the server. */
  #askAboutTask(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    const { messages, tasks } = this.#options;
    if (messages.isEmpty) return tasks.request(request, responder, shared.identity);
    return deferred((proceed) =>
      passInput(messages, request.caller, request.message, responder, (message, guarded) =>
        proceed(() => tasks.request({ ...request, message }, guarded, shared.identity)),
      ),
    );
  }

  /** Checks the headers that repeat parameters. The server's tool list names these headers. */
  #callTool(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    const { message, refusalFor } = request;
    const { name } = message.value.params ?? {};
    return deferred((proceed) =>
      this.#options.toolParameters.of(shared, String(name), (rules) => {
        const refusal = refusalFor(rules.mirrored) ?? this.#excessOf(request, shared, rules);
        if (refusal === undefined) return proceed(() => this.#ask(request, responder, shared, rules));
        answerError(responder, idText(message), refusal.code, refusal.message, refusal.data);
      }),
    );
  }

  #askModern(
    { message, caller }: ModernRequest,
    responder: Responder,
    shared: ServerConnection,
  ): PendingRequest {
    const { messages } = this.#options;
    if (message.value.method === 'server/discover')
      return pending(shared, shared.ask(message, withAllVersions(responder)));
    if (messages.isEmpty) return pending(shared, shared.ask(message, responder));
    return deferred((proceed) =>
      passInput(messages, caller, message, responder, (passed, guarded) =>
        proceed(() => pending(shared, shared.ask(passed, guarded))),
      ),
    );
  }

  #askLegacy(
    request: ModernRequest,
    responder: Responder,
    shared: ServerConnection,
    task: TaskCall | undefined,
  ): PendingRequest {
    const { calls, sharing } = this.#options;
    const { mayBeSeparate } = sharing;
    const { message, caller } = request;
    const { method = '', params } = message.value;
    if (method === 'server/discover') {
      answerResult(
        responder,
        idText(message),
        discoverResult(forModernClient(shared.identity, mayBeSeparate)),
      );
      return nothingPending;
    }
    if (mayBeSeparate && canBeAsked(caller.client) && listMethods.has(method))
      return calls.list(request, responder);
    // What a call changes in a legacy server must not be seen by calls of other clients.
    const needsOwn = mayBeSeparate || params?.['requestState'] !== undefined;
    if (needsOwn && askingMethods.has(method)) return calls.accept(request, responder, task);
    const answer = (response: Message): void =>
      responder.answer(modernized(response, method, shared.identity));
    return pending(shared, shared.ask(message, withAnswer(responder, answer)));
  }

  #listen(
    { message: request, caller }: ModernRequest,
    responder: Responder,
    shared: ServerConnection,
  ): PendingRequest {
    const { identity } = shared;
    const { subscriptions } = this.#options;
    const filter = filterFrom(request.value.params);
    const { id } = request.value;
    if (filter === undefined || id === undefined) {
      const why = `the filter of subscriptions/listen must contain a notification type and at most ${maxUris} resources`;
      answerError(responder, idText(request), errorCodes.invalidParams, why);
      return nothingPending;
    }
    if (filter.taskIds?.length !== 0 && !declaresTasks(caller.client)) {
      const why = 'notifications about tasks need the extension for tasks';
      answerError(responder, idText(request), mcpErrors.missingClientCapability, why, requiredExtension);
      return nothingPending;
    }
    const followed = this.#followed(filter, shared);
    const offered = shared.generation === 'legacy' ? { ...filter, taskIds: [] } : filter;
    const accepted = { ...granted(offered, identity), ...(followed.length > 0 ? { taskIds: followed } : {}) };
    const listener = { id, principal: caller.principal.id };
    const subscription = new Subscription(listener, accepted, (notification) =>
      responder.notify(notification),
    );
    subscriptions.add(subscription);
    const over = new AbortController();
    for (const task of followed) this.#follow(task, caller, identity, subscription, over.signal);
    return {
      cancel() {
        over.abort(new Error('the client went away'));
        subscriptions.delete(subscription);
      },
    };
  }
}

/** Whether the client gives up the call, rather than resume it. */
const isAbandoned = ({ value }: Message): boolean => value.params?._meta?.[abandonKey] === true;

const nothingPending: PendingRequest = { cancel() {} };

/** Starts a request when `start` is called, unless the request was canceled before. */
export function deferred(start: (proceed: (begin: () => PendingRequest) => void) => void): PendingRequest {
  let begun = nothingPending;
  let isCancelled = false;
  start((begin) => {
    if (!isCancelled) begun = begin();
  });
  return {
    cancel() {
      isCancelled = true;
      begun.cancel();
    },
  };
}

function pending(connection: ServerConnection, call: Call | undefined): PendingRequest {
  if (call === undefined) return nothingPending;
  return { cancel: () => connection.cancel(call, 'the client went away') };
}
