import type { ServerResponse } from 'node:http';
import { readBody } from '../http/body.ts';
import { replyJson, replyUnacceptable } from '../http/reply.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import {
  MalformedMessage,
  errorCodes,
  errorMessage,
  idText,
  isObject,
  membersOf,
  readBatch,
  readMessage,
  readValue,
  replaceAt,
  spanOf,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { readableId } from '../jsonrpc/readable-id.ts';
import { requireUnambiguous } from '../jsonrpc/ambiguity.ts';
import type { Exchange } from '../middleware/middleware.ts';

/** The messages of one HTTP request. */
export interface Incoming {
  /** Absent for a batch. */
  message?: Message;
  messages: readonly Message[];
}

/** Reads the JSON-RPC messages in an HTTP request, or answers the request with an error. */
export function readIncoming(
  exchange: Exchange,
  input: WorkloadInput,
  accept: (incoming: Incoming) => void,
): void {
  const { request, response } = exchange;
  readBody(request, input, (error, body) => {
    if (error !== undefined) {
      replyUnacceptable(response, error);
      return;
    }
    const text = body.startsWith('\uFEFF') ? body.slice(1) : body;
    let incoming: Incoming;
    try {
      incoming = messagesIn(text);
      // The server must understand a message as the checks here do.
      for (const message of incoming.messages) requireUnambiguous(message.text, message.value);
    } catch (malformed) {
      if (!(malformed instanceof MalformedMessage)) throw malformed;
      // Without a readable ID, JSON-RPC 2.0, section 5, requires null.
      const id = readableId(text) ?? 'null';
      replyJson(response, 400, errorMessage(id, malformed.code, malformed.message).text);
      return;
    }
    exchange.message = incoming.message;
    exchange.onMessages?.(incoming.messages);
    accept(incoming);
  });
}

function messagesIn(text: string): Incoming {
  try {
    return isBatch(text) ? { messages: readBatch(text) } : only(readMessage(text));
  } catch (malformed) {
    const changed = withoutNothing(text);
    if (changed === text) throw malformed;
    return only(readMessage(changed));
  }
}

const maxNothingChars = 1024 * 1024;

/**
 * The text without `params` and `_meta` that are null or an empty list, and without the null ID of a notification, as serializers
 * of clients write missing values. Every other byte stays the same. A member that appears twice stays, too, and is refused later.
 */
function withoutNothing(text: string): string {
  if (text.length > maxNothingChars || !/"(?:params|_meta|id)"\s{0,9}:\s{0,9}(?:null|\[\s{0,9}\])/.test(text))
    return text;
  const value = readValue(text);
  if (!isObject(value) || typeof value['method'] !== 'string') return text;
  // A request with a null ID is refused, because its response could not name it.
  if (value['id'] === null && value['method'].startsWith('notifications/')) {
    const bare = withoutMember(text, 'id');
    return bare === text ? text : withoutNothing(bare);
  }
  if (isNothing(value['params'])) return withoutMember(text, 'params');
  const { params } = value;
  const span = isObject(params) && isNothing(params['_meta']) ? spanOf(text, ['params']) : undefined;
  return span === undefined ? text : replaceAt(text, span, withoutMember(text.slice(...span), '_meta'));
}

function isNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

function withoutMember(text: string, name: string): string {
  const members = membersOf(text);
  const others = members.filter(([each]) => each !== name);
  if (members.length - others.length !== 1) return text;
  return `{${others.map(([each, value]) => `${JSON.stringify(each)}:${value}`).join(',')}}`;
}

/** The only protocol version with batches (MCP 2025-03-26, Overview, Batching). */
export const batchVersion = '2025-03-26';

/** Answers a batch that is not allowed. Returns false if there is nothing to refuse. */
export function refuseBatch(
  { message, messages }: Incoming,
  revision: string,
  response: ServerResponse,
): boolean {
  if (message !== undefined) return false;
  const begins = messages.some(({ value }) => value.method === 'initialize');
  if (revision === batchVersion && !begins) return false;
  const why = begins
    ? 'initialize must not be one of several messages'
    : `only clients of ${batchVersion} can send several messages at once`;
  const [first, ...others] = messages;
  const id = first?.kind === 'request' && others.length === 0 ? idText(first) : 'null';
  replyJson(response, 400, errorMessage(id, errorCodes.invalidRequest, why).text);
  return true;
}

function only(message: Message): Incoming {
  return { message, messages: [message] };
}

function isBatch(text: string): boolean {
  return /^\s*\[/.test(text);
}
