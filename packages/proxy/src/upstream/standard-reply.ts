import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, idText, isObject, readMessage, readValue, restate } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Exchange } from '../middleware/middleware.ts';
import type { Answer } from '../transport/answer.ts';
import { readBody, requestIdOf } from '../transport/received.ts';
import { sessionState } from '../transport/session-end.ts';

/** A message that was sent to a server over streamable HTTP. */
interface Forwarded {
  exchange: Exchange;
  /** The message in the body, if there is one. */
  message?: Message;
}

/**
 * A reply as clients know it. Many clients begin a new session only after status 404, and end their connection for a
 * reply to a notification other than 202 without a body (MCP 2025-11-25, Transports, Streamable HTTP).
 */
export function asStandard({ exchange, message }: Forwarded, answer: Answer): Answer {
  const { statusCode, headers, body } = answer;
  const { method, headers: asked } = exchange.request;
  if (typeof body !== 'string') return answer;
  const isReport = message !== undefined && message.kind !== 'request';
  const isTaken = (statusCode >= 200 && statusCode < 300) || (statusCode >= 400 && isUnknownMethod(body));
  if (isReport && isTaken)
    return { statusCode: 202, headers: { ...headers, 'content-type': undefined }, body: '' };
  const isInSession = asked['mcp-session-id'] !== undefined && message?.value.method !== 'initialize';
  if (!isInSession || method === 'DELETE' || statusCode < 400 || isOwn(body, message)) return answer;
  const state = sessionState({ statusCode, text: body }, false);
  return state === 'ended' || state === 'perhaps' ? { ...answer, statusCode: 404 } : answer;
}

/** Whether a server refuses an unknown notification, which must not end the connection. */
function isUnknownMethod(body: string): boolean {
  try {
    const { error } = readValue(body) as { error?: unknown };
    return isObject(error) && error['code'] === errorCodes.methodNotFound;
  } catch {
    return false;
  }
}

/** Whether a body is a response with the ID of the request, which says nothing about the session. */
function isOwn(body: string, message: Message | undefined): boolean {
  try {
    return message !== undefined && readMessage(body).value.id === message.value.id;
  } catch {
    return false;
  }
}

/** Whether a reply must contain the answer to a request. A server that accepts a request may answer on the stream of the session. */
export function mustAnswer(
  { request, session }: { request?: Message; session: object | undefined },
  statusCode: number,
  body: string,
): boolean {
  const isAccepted = statusCode === 202 && body.trim() === '' && session !== undefined;
  return request !== undefined && statusCode < 400 && !isAccepted;
}

/** Finds the answer to a request in a body that is not a message, whatever its media type. */
export function answerIn(
  body: string,
  request: Message,
  input: Pick<WorkloadInput, 'tolerate'>,
): string | undefined {
  const id = requestIdOf(request);
  if (id === undefined) return undefined;
  const { answer } = readBody(body, id, (tolerance) => input.tolerate(tolerance));
  return typeof answer === 'object' ? restate(answer, { newId: idText(request) }).text : undefined;
}
