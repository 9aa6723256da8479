import { MalformedMessage, readMessage, restate, spanOf, replaceAt } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { readableId } from '../jsonrpc/readable-id.ts';
import { recoverMessages } from '../jsonrpc/recovery.ts';

/** The meaning of a line of a client. */
export type ClientLine =
  | { kind: 'messages'; messages: readonly Message[] }
  /** A request with this ID, as JSON text, that cannot be forwarded. */
  | { kind: 'refused'; id: string; code: number; message: string }
  | { kind: 'invalid' };

const empty: ClientLine = { kind: 'messages', messages: [] };

/** The other IDs that stand for numbers which JavaScript cannot hold. */
const alias = /^"toolhive-exact-id-(.*)"$/;

/** Reads a line. A client gets an answer to each request with an ID, also if the request is not valid. */
export function readClientLine(line: string): ClientLine {
  const text = line.replace(/^\uFEFF/, '').trim();
  if (text === '') return empty;
  try {
    return { kind: 'messages', messages: [readMessage(text)] };
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    const recovered = recoverMessages(text);
    if (recovered?.around === '') return { kind: 'messages', messages: recovered.messages };
    const id = readableId(text);
    if (id === undefined) return { kind: 'invalid' };
    return withAlias(text, id) ?? { kind: 'refused', id, code: error.code, message: error.message };
  }
}

/** The same request with a text as its ID, if only its ID, a number that is not exact, is not valid. */
function withAlias(text: string, id: string): ClientLine | undefined {
  if (id.startsWith('"') || Number.isSafeInteger(Number(id))) return undefined;
  try {
    const span = spanOf(text, ['id']);
    if (span === undefined) return undefined;
    const message = readMessage(replaceAt(text, span, JSON.stringify(`toolhive-exact-id-${id}`)));
    return { kind: 'messages', messages: [message] };
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

/** A response with the ID that the client chose. */
export function withOwnId(response: Message): Message {
  const { id, text } = response;
  const own = id === undefined ? undefined : alias.exec(text.slice(id[0], id[1]))?.[1];
  return own === undefined || !/^-?\d[\d.eE+-]*$/.test(own) ? response : restate(response, { newId: own });
}
