import { errorCodes, errorMessage, idText, resultMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';

/** Takes the answer to one request and the messages that precede the answer. */
export interface Responder {
  /** Called exactly once, with the response under the client's own ID. */
  answer(response: Message): void;
  /** Sends a notification that belongs to the request, such as its progress. */
  notify(notification: Message): void;
  /** Sends a request of the server in the course of the request. Absent if the client cannot be asked. */
  ask?(request: Message): void;
  /** No connection waits for the answer at the moment. */
  readonly isAbandoned?: boolean;
}

/** Returns a responder whose answer goes to `answer` instead. */
export function withAnswer(responder: Responder, answer: Responder['answer']): Responder {
  return {
    answer,
    notify: (notification) => responder.notify(notification),
    get isAbandoned() {
      return responder.isAbandoned === true;
    },
    ...(responder.ask === undefined ? {} : { ask: (request: Message) => responder.ask?.(request) }),
  };
}

/** Returns a responder whose notifications go to `notify` instead. */
export function withNotify(responder: Responder, notify: Responder['notify']): Responder {
  return {
    ...withAnswer(responder, (response) => responder.answer(response)),
    get isAbandoned() {
      return responder.isAbandoned === true;
    },
    notify,
  };
}

/** Answers a request with an error. `id` is JSON text. */
export function answerError(
  responder: Responder,
  id: string,
  code: number,
  message: string,
  data?: object,
): void {
  responder.answer(errorMessage(id, code, message, data));
}

/** Answers a request with a result. `id` is JSON text. */
export function answerResult(responder: Responder, id: string, result: object): void {
  responder.answer(resultMessage(id, result));
}

/** Answers that the method does not exist (JSON-RPC 2.0, section 5.1). */
export function answerUnknown(request: Message, responder: Responder): void {
  const message = `${request.value.method} is not known`;
  answerError(responder, idText(request), errorCodes.methodNotFound, message);
}
