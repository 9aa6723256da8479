import { messageOf } from '@toolhive/contract/failure';
import { withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  isObject,
  ownMessage,
  readMessage,
  resultMessage,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { refusedResponse } from '../middleware/message-pipeline.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Caller, Outcome, Refusal } from '../middleware/middleware.ts';

/** A result with which a modern server asks the client (MCP 2026-07-28, Multi Round-Trip Requests). */
export interface InputRequired {
  inputRequests?: unknown;
  requestState?: unknown;
}

/** Returns the result if it contains requests from the server to the client. */
export function inputRequiredOf({ value: { result } }: Message): InputRequired | undefined {
  return isObject(result) && result['resultType'] === 'input_required' ? result : undefined;
}

/** Returns the result if it contains such requests, also those of a task (SEP-2663, Task Update Requests). */
function asksClient(response: Message): InputRequired | undefined {
  const { result } = response.value;
  const isOfTask = isObject(result) && isObject(result['inputRequests']) && result['taskId'] !== undefined;
  return isOfTask ? result : inputRequiredOf(response);
}

/** How many requests a server may send in one result, and how many responses a client may send in one request. */
const maxInputs = 100;

/** Returns the requests in a result by their keys. Throws if the server asks for anything else, or for too much. */
export function serverRequestsIn({ inputRequests }: InputRequired): (readonly [string, Message])[] {
  const asked = Object.entries(isObject(inputRequests) ? inputRequests : {});
  if (asked.length > maxInputs) throw new Error(`the server sent more than ${maxInputs} requests at once`);
  return asked.map(([key, asking]) => {
    const { method, params } = isObject(asking) ? asking : {};
    try {
      return [key, readMessage(JSON.stringify({ jsonrpc: '2.0', id: key, method, params }))];
    } catch (error) {
      const why = `the server asks for something that is not a request: ${messageOf(error)}`;
      throw new Error(why, { cause: error });
    }
  });
}

/** Returns a client's response to a server request under the key from `inputRequests`. */
export function clientResponse(key: string, result: unknown): Message {
  return resultMessage(JSON.stringify(key), isObject(result) ? result : { value: result });
}

/**
 * Passes the requests from a modern server to a modern client through the middleware, as individual requests and
 * responses. If one of them is refused, the client's original request is refused too.
 */
export function passInput(
  messages: MessagePipeline,
  caller: Caller,
  request: Message,
  responder: Responder,
  proceed: (request: Message, responder: Responder) => void,
): void {
  const answer = (response: Message): void => responder.answer(response);
  const guarded = withAnswer(responder, (response) =>
    passInputRequests(messages, caller, { request, response }, answer),
  );
  passInputResponses(messages, caller, request, { answer, proceed: (passed) => proceed(passed, guarded) });
}

/**
 * Passes the responses in a request through the middleware, then calls `proceed`. If a response is refused, `answer`
 * receives the error.
 */
export function passInputResponses(
  messages: MessagePipeline,
  caller: Caller,
  request: Message,
  { answer, proceed }: { answer: (response: Message) => void; proceed: (request: Message) => void },
): void {
  const { inputResponses } = request.value.params ?? {};
  if (!isObject(inputResponses)) return proceed(request);
  if (Object.keys(inputResponses).length > maxInputs) {
    const why = `inputResponses has more than ${maxInputs} members`;
    return answer(errorMessage(idText(request), errorCodes.invalidParams, why));
  }
  const responses = Object.entries(inputResponses).map(
    ([key, result]) => [key, clientResponse(key, result)] as const,
  );
  passEach(
    responses,
    (response, done) => messages.toServer(caller, response, undefined, done),
    (refused) => answer(refusedResponse(request, refused)),
    (passed) => proceed(passed === undefined ? request : withResponses(request, passed)),
  );
}

/**
 * Passes the requests in a response through the middleware, then calls `answer` with the response or with its
 * replacement.
 */
export function passInputRequests(
  messages: MessagePipeline,
  caller: Caller,
  { request, response }: { request: Message; response: Message },
  answer: (response: Message) => void,
): void {
  const inputRequired = asksClient(response);
  if (inputRequired === undefined) return answer(response);
  let asked: readonly (readonly [string, Message])[];
  try {
    asked = serverRequestsIn(inputRequired);
  } catch (error) {
    return answer(errorMessage(idText(request), errorCodes.serverError, messageOf(error)));
  }
  passEach(
    asked,
    (serverRequest, done) => messages.toClient(caller, serverRequest, request, done),
    (refused) => answer(refusedResponse(request, refused)),
    (passed) => answer(passed === undefined ? response : withRequests(response, inputRequired, passed)),
  );
}

/** Passes the messages in order. `done` receives all messages if any of them was replaced. */
function passEach(
  messages: readonly (readonly [string, Message])[],
  pass: (message: Message, done: (outcome: Outcome) => void) => void,
  refused: (refusal: Refusal) => void,
  done: (passed: Map<string, Message> | undefined) => void,
): void {
  const passed = new Map<string, Message>();
  let isReplaced = false;
  const passFrom = (at: number): void => {
    const [key, message] = messages[at] ?? [];
    if (key === undefined || message === undefined) return done(isReplaced ? passed : undefined);
    pass(message, (outcome) => {
      if (outcome.kind === 'refusal') return refused(outcome);
      if (outcome !== message) isReplaced = true;
      passed.set(key, outcome);
      passFrom(at + 1);
    });
  };
  passFrom(0);
}

function withResponses({ value }: Message, responses: Map<string, Message>): Message {
  const { id, method = '', params } = value;
  const inputResponses = Object.fromEntries(
    responses.entries().map(([key, response]) => [key, response.value.result]),
  );
  return ownMessage({ id, method, params: { ...params, inputResponses } });
}

function withRequests(response: Message, result: InputRequired, requests: Map<string, Message>): Message {
  const inputRequests = Object.fromEntries(
    requests.entries().map(([key, { value }]) => [key, { method: value.method, params: value.params }]),
  );
  return resultMessage(idText(response), { ...result, inputRequests });
}
