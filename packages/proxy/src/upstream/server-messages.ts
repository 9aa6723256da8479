import { messageOf } from '@toolhive/contract/failure';
import { passInputRequests } from '../bridge/input-required.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { isObject, readBatch, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { recoverMessages } from '../jsonrpc/recovery.ts';
import { refusedResponse } from '../middleware/message-pipeline.ts';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import { asAnswer, requestIdOf, shown } from '../transport/received.ts';
import type { Caller } from '../middleware/middleware.ts';
import { isTask, tokenOf } from './server-sessions.ts';
import type { ServerSession } from './server-sessions.ts';

/** The longest error without an ID that clients get. */
const maxFailureChars = 10_000;

/** What the messages of a reply belong to. */
interface Answered {
  caller: Caller;
  session: ServerSession | undefined;
  /** What the client sent, if that is a request. */
  request?: Message | undefined;
  /** Told that the client gets the response to the request. */
  onAnswer?: () => void;
  isAnswered?: () => boolean;
  /** Whether requests of the session may have come through another proxy. */
  isPartial?: boolean;
  /** Told why a text is no message. */
  onInvalid?: (why: string) => void;
}

interface ServerMessagesOptions {
  messages: MessagePipeline;
  input: WorkloadInput;
  /** Told that the server has exceeded a limit and must be stopped. */
  onExcess: (reason: string) => void;
}

/** Passes the messages in the replies of an HTTP server through the middleware. */
export class ServerMessages {
  readonly #options: ServerMessagesOptions;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
  }

  /**
   * Passes a message or a batch. Calls `done` with the client's messages, possibly none. Calls `respond` with each response
   * that the server gets in the client's place.
   */
  pass(
    answered: Answered,
    text: string,
    respond: (response: Message) => void,
    done: (text: string) => void,
  ): void {
    let messages: readonly Message[];
    try {
      messages = this.#messagesIn(text);
    } catch (error) {
      const nameless = answerOf(text, answered);
      if (nameless !== undefined) return this.pass(answered, nameless.text, respond, done);
      answered.onInvalid?.(`${messageOf(error)}: ${shown(text)}`);
      // A failure outside any request has no ID, so it is not a message either (JSON-RPC 2.0, section 5).
      if (isFailure(text)) return done(text);
      this.#reportInvalid(text);
      return done('');
    }
    const texts: string[] = [];
    const deliverFrom = (at: number): void => {
      const message = messages[at];
      if (message === undefined)
        return done(isBatch(text) && texts.length > 0 ? `[${texts.join()}]` : texts.join());
      this.#deliver(answered, message, respond, (delivered) => {
        if (delivered !== undefined) texts.push(delivered.text);
        deliverFrom(at + 1);
      });
    };
    deliverFrom(0);
  }

  #messagesIn(text: string): readonly Message[] {
    try {
      return isBatch(text) ? readBatch(text) : [readMessage(text)];
    } catch (error) {
      const recovered = recoverMessages(text);
      const isOne = recovered?.messages.length === 1 && recovered.around === '';
      if (recovered === undefined || !isOne) throw error;
      for (const tolerance of recovered.tolerances) this.#options.input.tolerate(tolerance);
      return recovered.messages;
    }
  }

  /** Passes one message, and calls back with the client's message, if any. */
  #deliver(
    answered: Answered,
    message: Message,
    respond: (response: Message) => void,
    done: (message?: Message) => void,
  ): void {
    const { caller, session } = answered;
    const { messages } = this.#options;
    if (message.kind === 'response') {
      const request = requestOf(message, answered);
      if (request === undefined) {
        // Some servers refuse every request under the same ID.
        const own = answerOf(message, answered);
        if (own === undefined) return done(); // the client has not asked this
        return this.#deliver(answered, own, respond, done);
      }
      session?.requests.take(message);
      answered.onAnswer?.();
      return messages.toClient(caller, message, request, (outcome) => {
        if (outcome.kind === 'refusal') done(refusedResponse(request, outcome));
        else passInputRequests(messages, caller, { request, response: outcome }, done);
      });
    }
    if (isForeignProgress(message, answered)) {
      this.#options.input.tolerate('progress');
      return done();
    }
    messages.toClient(caller, message, answered.request, (outcome) => {
      if (outcome.kind !== 'refusal') {
        if (message.kind === 'request') session?.serverRequests.add(message);
        return done(outcome);
      }
      // The server gets the refusal as the client's response.
      if (message.kind === 'request') respond(refusedResponse(message, outcome));
      done();
    });
  }

  #reportInvalid(text: string): void {
    const excess = this.#options.input.reportInvalid(text);
    if (excess !== undefined) this.#options.onExcess(excess);
  }
}

/** The answer to the request of this reply in a response that does not name the request. */
function answerOf(said: string | Message, { request, isAnswered }: Answered): Message | undefined {
  const id = request === undefined ? undefined : requestIdOf(request);
  if (id === undefined || isAnswered?.() !== false) return undefined;
  const answer = asAnswer(said, id);
  return typeof answer === 'string' || answer === said ? undefined : answer;
}

/** Returns the request that a response answers: the request of this reply, or another request of the session. */
function requestOf(response: Message, { request, session }: Answered): Message | undefined {
  return request !== undefined && request.value.id === response.value.id
    ? request
    : session?.requests.find(response);
}

/**
 * Whether a notification of progress has no token of an unanswered request (MCP 2025-11-25, Progress, Behavior Requirements).
 * Several clients end the session for such a notification.
 */
function isForeignProgress({ kind, value }: Message, answered: Answered): boolean {
  if (kind !== 'notification' || value.method !== 'notifications/progress') return false;
  const { request, session, isAnswered, isPartial } = answered;
  if (request === undefined && (session === undefined || isPartial === true)) return false;
  const given = value.params?.['progressToken'];
  const token = typeof given === 'number' ? String(given) : given;
  if (typeof token !== 'string') return true;
  const isOpen = request !== undefined && (isAnswered?.() !== true || isTask(request));
  return !(isOpen && tokenOf(request) === token) && session?.requests.hasToken(token) !== true;
}

/** Whether a text is an error response without an ID. */
function isFailure(text: string): boolean {
  if (text.length > maxFailureChars) return false;
  try {
    const value: unknown = JSON.parse(text);
    return (
      isObject(value) &&
      isObject(value['error']) &&
      value['result'] === undefined &&
      value['method'] === undefined
    );
  } catch {
    return false;
  }
}

function isBatch(text: string): boolean {
  return /^\s*\[/.test(text);
}
