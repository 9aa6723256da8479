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
  return new Diverted(responder, { answer });
}

/** Returns a responder whose notifications go to `notify` instead. */
export function withNotify(responder: Responder, notify: Responder['notify']): Responder {
  return new Diverted(responder, { notify });
}

/** Takes a part of what a responder receives. A class, because each object literal with a getter is expensive (decision 92). */
class Diverted implements Responder {
  readonly answer: Responder['answer'];
  readonly notify: Responder['notify'];
  readonly ask?: (request: Message) => void;
  readonly #responder: Responder;

  constructor(responder: Responder, { answer, notify }: Partial<Pick<Responder, 'answer' | 'notify'>>) {
    this.#responder = responder;
    this.answer = answer ?? ((response) => responder.answer(response));
    this.notify = notify ?? ((notification) => responder.notify(notification));
    const ask = (request: Message): void => responder.ask?.(request);
    if (responder.ask !== undefined) this.ask = ask;
  }

  get isAbandoned(): boolean {
    return this.#responder.isAbandoned === true;
  }
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
