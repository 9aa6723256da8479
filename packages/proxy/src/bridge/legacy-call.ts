import { randomUUID } from 'node:crypto';
import { messageOf } from '@toolhive/contract/failure';
import type { ServerConnection } from '../connection/connection.ts';
import { answerError, withAnswer } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText, insertMembers, ownMessage, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { isOffered, modernMeta } from '../protocol/protocol.ts';
import { inputRequiredOf, serverRequestsIn } from './input-required.ts';
import type { InputRequired } from './input-required.ts';
import { withoutResultType } from './modern-result.ts';
import type { ClientAnswer, Session } from './session.ts';

/** How often a server may ask the client in the course of one request. */
const maxRounds = 50;

/**
 * Passes a request of a legacy client on to a modern server. The request describes the client. What the server asks
 * in return becomes requests to the client, whose answers go to the server with the repeated request.
 */
export function askModern(
  connection: ServerConnection,
  session: Session,
  request: Message,
  responder: Responder,
): void {
  askRound(connection, session, request, withRisingProgress(responder), 1);
}

/**
 * A modern server begins a repeated request again and reports its progress again, but for a legacy client there is only one
 * request, whose progress must rise (MCP 2025-11-25, Progress).
 */
function withRisingProgress(responder: Responder): Responder {
  let reached = Number.NEGATIVE_INFINITY;
  return {
    ...withAnswer(responder, (response) => responder.answer(response)),
    get isAbandoned() {
      return responder.isAbandoned === true;
    },
    notify(notification) {
      const { method, params } = notification.value;
      const progress = params?.['progress'];
      if (method === 'notifications/progress' && typeof progress === 'number') {
        if (progress <= reached) return;
        reached = progress;
      }
      responder.notify(notification);
    },
  };
}

function askRound(
  connection: ServerConnection,
  session: Session,
  request: Message,
  responder: Responder,
  round: number,
): void {
  const described = insertMembers(
    request.text,
    ['params', '_meta'],
    modernMeta(session.client, session.logLevel),
  );
  const answer = (response: Message): void => {
    const inputRequired = inputRequiredOf(response);
    if (inputRequired === undefined) return responder.answer(withoutResultType(response));
    if (round > maxRounds) return fail(responder, request, 'the server never stops asking');
    void askClient(session, request, responder, inputRequired)
      .then((inputResponses) =>
        askRound(connection, session, repeated(request, inputResponses, inputRequired), responder, round + 1),
      )
      .catch((error: unknown) => fail(responder, request, messageOf(error)));
  };
  connection.ask(readMessage(described), withAnswer(responder, answer), session);
}

/** Sends all requests to the client at once. Rejects if the client cannot be asked or refuses. */
async function askClient(
  session: Session,
  request: Message,
  responder: Responder,
  inputRequired: InputRequired,
): Promise<Record<string, unknown>> {
  const answers = serverRequestsIn(inputRequired).map(async ([key, asked]) => {
    const { method = '' } = asked.value;
    if (!isOffered(session.client, method)) {
      throw new Error(`the server asks the client for ${method}, which the client does not offer`);
    }
    const { promise, resolve } = Promise.withResolvers<ClientAnswer>();
    session.askClient(asLegacy(asked), { request, responder }, resolve);
    const answer = await promise;
    if ('result' in answer) return [key, answer.result] as const;
    if (method === 'elicitation/create') return [key, { action: 'cancel' }] as const;
    const { message = 'no reason' } = (answer.error ?? {}) as { message?: string };
    throw new Error(`the client refused ${method}: ${message}`);
  });
  return Object.fromEntries(await Promise.all(answers));
}

/** Legacy clients require an ID in a request to open a URL, which modern ones do not have (MCP 2025-11-25, Elicitation). */
function asLegacy(asked: Message): Message {
  const { method, params } = asked.value;
  const isUrl = method === 'elicitation/create' && params?.['mode'] === 'url';
  if (!isUrl || params['elicitationId'] !== undefined) return asked;
  return readMessage(insertMembers(asked.text, ['params'], { elicitationId: randomUUID() }));
}

/** Returns the same request with the client's answers. */
function repeated({ value }: Message, inputResponses: object, { requestState }: InputRequired): Message {
  const { inputResponses: _before, requestState: _state, ...params } = value.params ?? {};
  const more = { inputResponses, ...(requestState === undefined ? {} : { requestState }) };
  const { id, method = '' } = value;
  return ownMessage({ id, method, params: { ...params, ...more } });
}

function fail(responder: Responder, request: Message, why: string): void {
  answerError(responder, idText(request), errorCodes.serverError, why);
}
