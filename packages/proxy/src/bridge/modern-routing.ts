import type { Call, ServerConnection } from '../connection/connection.ts';
import { answerError, answerResult, answerUnknown, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import {
  askingMethods,
  canBeAsked,
  isAboutTasks,
  legacyOnlyMethods,
  listMethods,
} from '../protocol/protocol.ts';
import { passInput } from './input-required.ts';
import type { ModernRequest, PendingRequest } from './modern-call.ts';
import type { ModernCalls } from './modern-calls.ts';
import { discoverResult, modernized, withAllVersions } from './modern-result.ts';
import { Subscription, filterFrom, granted, maxUris } from './subscriptions.ts';
import type { Subscriptions } from './subscriptions.ts';
import type { ToolParameters } from './tool-parameters.ts';

export interface ModernRouterOptions {
  calls: ModernCalls;
  subscriptions: Subscriptions;
  messages: MessagePipeline;
  toolParameters: ToolParameters;
  /** Whether clients may have separate connections. */
  mayHaveOwn: boolean;
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
    if (legacyOnlyMethods.has(method) || (shared.generation === 'legacy' && isAboutTasks(method))) {
      answerUnknown(message, responder);
      return nothingPending;
    }
    if (method === 'subscriptions/listen') return this.#listen(request, responder, shared);
    if (method === 'tools/call') return this.#callTool(request, responder, shared);
    return this.#ask(request, responder, shared);
  }

  #ask(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    return shared.generation === 'modern'
      ? this.#askModern(request, responder, shared)
      : this.#askLegacy(request, responder, shared);
  }

  /** Checks the headers that repeat parameters. The server's tool list names these headers. */
  #callTool(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    const { message, refusalFor } = request;
    const { name } = message.value.params ?? {};
    return deferred((proceed) =>
      this.#options.toolParameters.of(shared, String(name), (mirrored) => {
        const refusal = refusalFor(mirrored);
        if (refusal === undefined) return proceed(() => this.#ask(request, responder, shared));
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

  #askLegacy(request: ModernRequest, responder: Responder, shared: ServerConnection): PendingRequest {
    const { calls, mayHaveOwn } = this.#options;
    const { message, caller } = request;
    const { method = '', params } = message.value;
    if (method === 'server/discover') {
      answerResult(responder, idText(message), discoverResult(shared.identity));
      return nothingPending;
    }
    if (mayHaveOwn && canBeAsked(caller.client) && listMethods.has(method))
      return calls.list(request, responder);
    // What a call changes in a legacy server must not be seen by calls of other clients.
    const needsOwn = mayHaveOwn || params?.['requestState'] !== undefined;
    if (needsOwn && askingMethods.has(method)) return calls.accept(request, responder);
    const answer = (response: Message): void =>
      responder.answer(modernized(response, method, shared.identity));
    return pending(shared, shared.ask(message, withAnswer(responder, answer)));
  }

  #listen(
    { message: request, caller }: ModernRequest,
    responder: Responder,
    { identity }: ServerConnection,
  ): PendingRequest {
    const { subscriptions } = this.#options;
    const filter = filterFrom(request.value.params);
    const { id } = request.value;
    if (filter === undefined || id === undefined) {
      const why = `the filter of subscriptions/listen must contain a notification type and at most ${maxUris} resources`;
      answerError(responder, idText(request), errorCodes.invalidParams, why);
      return nothingPending;
    }
    const listener = { id, principal: caller.principal.id };
    const subscription = new Subscription(listener, granted(filter, identity), (notification) =>
      responder.notify(notification),
    );
    subscriptions.add(subscription);
    return { cancel: () => subscriptions.delete(subscription) };
  }
}

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
