import { messageOf } from '@toolhive/contract/failure';
import { errorCodes, idText, insertMembers, isObject, readMessage } from '../jsonrpc/message.ts';
import type { Message, MessageValue } from '../jsonrpc/message.ts';
import { modernMeta } from '../connection/handshake.ts';
import { answerError } from '../connection/connection.ts';
import type { Responder, ServerConnection } from '../connection/connection.ts';
import { isOffered } from '../protocol/protocol.ts';
import type { Session } from './session.ts';

/** How often a server may ask the client in the course of one request. */
const maxRounds = 50;

/**
 * Passes a request of a legacy client on to a modern server: it is told with the request who asks, and what it asks
 * in return becomes questions to the client, whose answers go with the request made again.
 */
export function askModern(
  connection: ServerConnection,
  session: Session,
  message: Message,
  reply: Responder,
  round = 1,
): void {
  const described = insertMembers(
    message.text,
    ['params', '_meta'],
    modernMeta(session.client, session.logLevel),
  );
  connection.ask(
    readMessage(described),
    {
      notify: (text) => reply.notify(text),
      get isAbandoned() {
        return reply.isAbandoned === true;
      },
      answer(text, value) {
        if (!isInputRequired(value)) return reply.answer(text, value);
        if (round > maxRounds) return fail(reply, message, 'the server never stops asking');
        void askClient(session, reply, value.result)
          .then((inputResponses) =>
            askModern(
              connection,
              session,
              madeAgain(message, inputResponses, value.result),
              reply,
              round + 1,
            ),
          )
          .catch((error: unknown) => fail(reply, message, messageOf(error)));
      },
    },
    session,
  );
}

interface InputRequired {
  inputRequests?: Record<string, { method: string; params?: unknown }>;
  requestState?: unknown;
}

function isInputRequired(value: MessageValue): value is { result: InputRequired } {
  return isObject(value.result) && value.result['resultType'] === 'input_required';
}

/** Asks the client everything at once. Rejects when it cannot be asked, or refuses. */
async function askClient(
  session: Session,
  reply: Responder,
  { inputRequests = {} }: InputRequired,
): Promise<Record<string, unknown>> {
  const answers = Object.entries(inputRequests).map(async ([key, { method, params }]) => {
    if (!isOffered(session.client, method)) {
      throw new Error(`the server asks the client for ${method}, which the client does not offer`);
    }
    const question = readMessage(JSON.stringify({ jsonrpc: '2.0', id: 0, method, params }));
    const { promise, resolve } = Promise.withResolvers<{ result: unknown } | { error: unknown }>();
    const text = session.question(resolve, question);
    if (reply.ask === undefined) session.send(text);
    else reply.ask(text);
    const answer = await promise;
    if ('result' in answer) return [key, answer.result] as const;
    if (method === 'elicitation/create') return [key, { action: 'cancel' }] as const;
    const { message = 'no reason' } = (answer.error ?? {}) as { message?: string };
    throw new Error(`the client refused ${method}: ${message}`);
  });
  return Object.fromEntries(await Promise.all(answers));
}

/** The same request, with what the server wanted to know. */
function madeAgain({ value }: Message, inputResponses: object, { requestState }: InputRequired): Message {
  const { inputResponses: _before, requestState: _state, ...params } = value.params ?? {};
  const more = { inputResponses, ...(requestState === undefined ? {} : { requestState }) };
  const { id, method } = value;
  return readMessage(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...more } }));
}

function fail(reply: Responder, message: Message, why: string): void {
  answerError(reply, idText(message), errorCodes.serverError, why);
}
