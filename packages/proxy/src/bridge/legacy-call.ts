import { randomUUID } from 'node:crypto';
import { messageOf } from '@toolhive/contract/failure';
import type { Call, ServerConnection } from '../connection/connection.ts';
import { answerError, withAnswer, withNotify } from '../connection/responder.ts';
import type { Responder } from '../connection/responder.ts';
import { errorCodes, idText, insertMembers, ownMessage, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { relatedTask } from '../protocol/extensions.ts';
import { isOffered, modernMeta } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { inputRequiredOf, serverRequestsIn } from './input-required.ts';
import type { InputRequired } from './input-required.ts';
import { withoutResultType } from './modern-result.ts';
import type { ClientAnswer, Session } from './session.ts';

/** How often a server may ask the client in the course of one request. */
const maxRounds = 50;

/** Whose request this is. */
interface Asking {
  session: Session;
  /** How the request describes the client. */
  client: ClientIdentity;
}

/**
 * Passes a request of a legacy client on to a modern server. The request describes the client. What the server asks
 * in return becomes requests to the client, whose answers go to the server with the repeated request.
 */
export function askModern(
  connection: ServerConnection,
  session: Session,
  request: Message,
  responder: Responder,
  client: ClientIdentity = session.client,
): void {
  askRound(connection, { session, client }, request, withRisingProgress(responder), 1);
}

/**
 * A modern server begins a repeated request again and reports its progress again, but for a legacy client there is only one
 * request, whose progress must rise (MCP 2025-11-25, Progress).
 */
function withRisingProgress(responder: Responder): Responder {
  let reached = Number.NEGATIVE_INFINITY;
  return withNotify(responder, (notification) => {
    const { method, params } = notification.value;
    const progress = params?.['progress'];
    if (method === 'notifications/progress' && typeof progress === 'number') {
      if (progress <= reached) return;
      reached = progress;
    }
    responder.notify(notification);
  });
}

function askRound(
  connection: ServerConnection,
  asking: Asking,
  request: Message,
  responder: Responder,
  round: number,
): void {
  const { session, client } = asking;
  const described = insertMembers(request.text, ['params', '_meta'], modernMeta(client, session.logLevel));
  const answer = (response: Message): void => {
    const inputRequired = inputRequiredOf(response);
    if (inputRequired === undefined) return responder.answer(withoutResultType(response));
    if (round > maxRounds) return fail(responder, request, 'the server never stops asking');
    void askClient(session, { request, responder }, inputRequired)
      .then((inputResponses) =>
        askRound(connection, asking, repeated(request, inputResponses, inputRequired), responder, round + 1),
      )
      .catch((error: unknown) => fail(responder, request, messageOf(error)));
  };
  connection.ask(readMessage(described), withAnswer(responder, answer), session);
}

/**
 * Sends the requests of a server to the client at once, in the course of the client's own request: all of them, or
 * those with the keys that `isWanted` accepts. With `taskId`, they name this task. Rejects if the client cannot be asked
 * or refuses.
 */
export async function askClient(
  session: Session,
  during: Pick<Call, 'request' | 'responder'>,
  inputRequired: InputRequired,
  {
    isWanted = () => true,
    taskId,
  }: { isWanted?: (key: string) => boolean; taskId?: string | undefined } = {},
): Promise<Record<string, unknown>> {
  const wanted = serverRequestsIn(inputRequired).filter(([key]) => isWanted(key));
  const answers = wanted.map(async ([key, asked]) => {
    const { method = '' } = asked.value;
    if (!isOffered(session.client, method)) {
      throw new Error(`the server asks the client for ${method}, which the client does not offer`);
    }
    const { promise, resolve } = Promise.withResolvers<ClientAnswer>();
    session.askClient(asLegacy(inTask(asked, taskId)), during, resolve);
    const answer = await promise;
    if ('result' in answer) return [key, answer.result] as const;
    if (method === 'elicitation/create') return [key, { action: 'cancel' }] as const;
    const { message = 'no reason' } = (answer.error ?? {}) as { message?: string };
    throw new Error(`the client refused ${method}: ${message}`);
  });
  return Object.fromEntries(await Promise.all(answers));
}

/** Legacy clients learn from a request which task it belongs to (MCP 2025-11-25, Tasks, Associating Task-Related Messages). */
function inTask(asked: Message, taskId: string | undefined): Message {
  if (taskId === undefined) return asked;
  const { id, method = '', params } = asked.value;
  const _meta = { ...params?._meta, [relatedTask]: { taskId } };
  return ownMessage({ id, method, params: { ...params, _meta } });
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
