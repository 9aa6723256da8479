import type { ServerResponse } from 'node:http';
import { readBody } from '../http/body.ts';
import { replyJson, replyUnacceptable } from '../http/reply.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import {
  MalformedMessage,
  errorCodes,
  errorMessage,
  idText,
  readBatch,
  readMessage,
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
  readBody(request, input, (error, text) => {
    if (error !== undefined) {
      replyUnacceptable(response, error);
      return;
    }
    let incoming: Incoming;
    try {
      incoming = isBatch(text) ? { messages: readBatch(text) } : only(readMessage(text));
      // The server must understand a message as the checks here do.
      for (const message of incoming.messages) requireUnambiguous(message.text);
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
