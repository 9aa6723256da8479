import { raiseFault } from '@toolhive/contract/fault';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, errorMessage, idText } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { CallContext, Caller, Middleware, Outcome, Refusal } from './middleware.ts';

type MessageMiddleware = NonNullable<Middleware['message']>;

/** Takes the outcome, and the place of the middleware that refused. */
type Done = (outcome: Outcome, at: number) => void;

/** Runs the middleware for messages: the outermost first on the way to the server, and last on the way to the client. */
export class MessagePipeline {
  readonly #all: readonly Middleware[];
  readonly #middlewares: readonly MessageMiddleware[];
  readonly #isEmpty: boolean;
  readonly #refused: readonly NonNullable<Middleware['refused']>[];
  readonly #onFault: (error: unknown) => void;

  /** `onFault` receives exceptions in middleware. */
  constructor(middlewares: readonly Middleware[], onFault: (error: unknown) => void) {
    this.#all = middlewares.filter(({ message }) => message !== undefined);
    this.#isEmpty = this.#all.every(({ isPassive }) => isPassive === true);
    this.#middlewares = middlewares.flatMap(({ message }) => message ?? []);
    this.#refused = middlewares.flatMap(({ refused }) => refused ?? []);
    this.#onFault = onFault;
  }

  /** No middleware needs to see messages, so they need not be read. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** All middleware for messages only looks at them. */
  get onlyObserves(): boolean {
    return this.#all.every(({ isObserver }) => isObserver === true);
  }

  /**
   * Passes a client request toward the server. `proceed` receives the resulting request and the responder for all
   * replies. A refused request is answered immediately, and `refused` is called.
   */
  request(
    caller: Caller,
    request: Message,
    responder: Responder,
    proceed: (request: Message, responder: Responder) => void,
    refused: () => void = () => {},
  ): void {
    const guarded = new GuardedResponder(this, caller, request, responder);
    this.#run({ ...caller, direction: 'to server', message: request }, 0, (outcome, at) => {
      if (outcome.kind !== 'refusal') return proceed(outcome, guarded);
      guarded.refuse(outcome, at - 1);
      refused();
    });
  }

  /** Passes a notification of a client, or its response to `request`, towards the server. */
  toServer(
    caller: Caller,
    message: Message,
    request: Message | undefined,
    proceed: (outcome: Outcome) => void,
  ): void {
    this.#run({ ...caller, direction: 'to server', message, request }, 0, proceed);
  }

  /** Passes a message of the server towards the client, beginning with the middleware at `from`. */
  toClient(
    caller: Caller,
    message: Message,
    request: Message | undefined,
    proceed: (outcome: Outcome) => void,
    from: number = this.#middlewares.length - 1,
  ): void {
    this.#run({ ...caller, direction: 'to client', message, request }, from, proceed);
  }

  /** Calls back with the outcome, and with the place of the middleware that refused. */
  #run(context: CallContext, from: number, done: Done): void {
    const step = context.direction === 'to server' ? 1 : -1;
    let passed = context;
    for (let at = from; at >= 0 && at < this.#middlewares.length; at += step) {
      const outcome = this.#outcomeOf(passed, at);
      if (outcome instanceof Promise) {
        this.#continue(outcome, { context: passed, at, step, done }).catch(raiseFault);
        return;
      }
      if (outcome.kind === 'refusal') return this.#refuse(passed, outcome, { at, done });
      if (outcome !== passed.message) passed = { ...passed, message: outcome };
    }
    done(passed.message, from);
  }

  /** Continues with the next middleware when one that waits has settled. */
  async #continue(
    outcome: Promise<Outcome>,
    { context, at, step, done }: { context: CallContext; at: number; step: number; done: Done },
  ): Promise<void> {
    const settled = await outcome.catch((error: unknown) => this.#fault(error));
    try {
      if (settled.kind === 'refusal') this.#refuse(context, settled, { at, done });
      else this.#run({ ...context, message: settled }, at + step, done);
    } catch (error) {
      this.#onFault(error); // nothing waits for this promise
    }
  }

  #refuse(context: CallContext, refused: Refusal, { at, done }: { at: number; done: Done }): void {
    const isFault = refused === fault;
    for (const tell of this.#refused) tell({ context, refusal: refused, isFault });
    done(refused, at);
  }

  #outcomeOf(context: CallContext, at: number): Outcome | Promise<Outcome> {
    try {
      return this.#middlewares[at]?.(context) ?? context.message;
    } catch (error) {
      return this.#fault(error);
    }
  }

  #fault(error: unknown): Refusal {
    this.#onFault(error);
    return fault;
  }
}

/** The refusal of a message on which a middleware has failed. */
const fault: Refusal = {
  kind: 'refusal',
  code: errorCodes.serverError,
  message: 'internal server error',
};

/** Returns a refusal, for a middleware to return. */
export function refusal(code: number, message: string, data?: object): Refusal {
  return { kind: 'refusal', code, message, data };
}

/** Returns the error response for a refused `request`. */
export function refusedResponse(request: Message, { code, message, data, http }: Refusal): Message {
  const response = errorMessage(idText(request), code, message, data);
  return http === undefined ? response : { ...response, http };
}

/** Passes messages to a client in order: a message that waits in a middleware delays the following messages. */
export class MessagesToClient {
  readonly #pipeline: MessagePipeline;
  #waiting: (() => void)[] | undefined;
  #isPassing = false;

  constructor(pipeline: MessagePipeline) {
    this.#pipeline = pipeline;
  }

  /** Passes a message, then calls `deliver`. `from` is the first middleware, by default the innermost. */
  pass(
    caller: Caller,
    message: Message,
    request: Message | undefined,
    deliver: (outcome: Outcome) => void,
    from?: number,
  ): void {
    if (this.#isPassing) {
      const later = (): void => this.#pass(caller, message, request, deliver, from);
      (this.#waiting ??= []).push(later);
    } else this.#pass(caller, message, request, deliver, from);
  }

  #pass(...[caller, message, request, deliver, from]: Parameters<MessagesToClient['pass']>): void {
    this.#isPassing = true;
    const done = (outcome: Outcome): void => {
      this.#isPassing = false;
      try {
        deliver(outcome);
      } finally {
        while (!this.#isPassing && this.#waiting?.[0] !== undefined) this.#waiting.shift()?.();
      }
    };
    this.#pipeline.toClient(caller, message, request, done, from);
  }
}

/** Passes everything that comes back for one request through the middleware. */
class GuardedResponder implements Responder {
  readonly #caller: Caller;
  readonly #request: Message;
  readonly #responder: Responder;
  readonly #messages: MessagesToClient;

  constructor(pipeline: MessagePipeline, caller: Caller, request: Message, responder: Responder) {
    this.#caller = caller;
    this.#request = request;
    this.#responder = responder;
    this.#messages = new MessagesToClient(pipeline);
  }

  get isAbandoned(): boolean {
    return this.#responder.isAbandoned === true;
  }

  /** Absent where the client cannot be asked. Requests of the server have passed the middleware already. */
  get ask(): Responder['ask'] {
    const responder = this.#responder;
    return responder.ask === undefined ? undefined : (request) => responder.ask?.(request);
  }

  answer(response: Message, from?: number): void {
    const deliver = (outcome: Outcome): void =>
      this.#responder.answer(outcome.kind === 'refusal' ? refusedResponse(this.#request, outcome) : outcome);
    this.#messages.pass(this.#caller, response, this.#request, deliver, from);
  }

  /** Answers with a refusal, which middleware further out sees as the response. */
  refuse(refused: Refusal, from: number): void {
    this.answer(refusedResponse(this.#request, refused), from);
  }

  notify(notification: Message): void {
    this.#messages.pass(this.#caller, notification, this.#request, (outcome) => {
      if (outcome.kind !== 'refusal') this.#responder.notify(outcome);
    });
  }
}
