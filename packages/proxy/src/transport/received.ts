import { escaped } from '@toolhive/contract/printable';
import { isObject, readMessage, readValue } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { recoverMessages } from '../jsonrpc/recovery.ts';
import type { Tolerance } from '../jsonrpc/tolerances.ts';
import type { Answer } from './answer.ts';
import { EventParser } from './event-parser.ts';
import type { Reach } from './own-address.ts';
import { askedPauseMs } from './pause.ts';
import { mediaTypeOf } from './media-type.ts';

export type RequestId = string | number;

/** Told of deviations that were understood. */
export type OnTolerance = (tolerance: Tolerance) => void;

/** Returns the message ID if the message is a request. */
export function requestIdOf({ value: { id, method } }: Message): RequestId | undefined {
  return method === undefined ? undefined : id;
}

/** Reads the messages in an event or a body. Text that is none is returned as it is, and the receiver reports it. */
export function readAll(text: string, tolerate: OnTolerance): readonly (string | Message)[] {
  try {
    return [readMessage(text)];
  } catch {
    const recovered = recoverMessages(text);
    if (recovered === undefined || recovered.around !== '') return [text];
    for (const tolerance of recovered.tolerances) tolerate(tolerance);
    return recovered.messages;
  }
}

/** Whether this answers the request. Some servers write the ID as text. */
export function isAnswer(said: string | Message, id: RequestId): said is Message {
  return typeof said !== 'string' && said.kind === 'response' && String(said.value.id) === String(id);
}

/** The content of a whole body: the answer to the request, and the messages beside it. */
export interface Body {
  answer: string | Message | undefined;
  others: readonly Message[];
}

/** Reads a whole body as the reply to a request, whatever its media type. It may be the text of an event stream. */
export function readBody(text: string, id: RequestId, tolerate: OnTolerance): Body {
  if (text.trim() === '') return { answer: undefined, others: [] };
  const events = /^\s*(?:event|data|id|retry)?:/.test(text) ? eventsIn(text) : [text];
  const messages = events
    .flatMap((event) => readAll(event, tolerate))
    .filter((said) => typeof said !== 'string');
  const answer = messages.find((said) => isAnswer(said, id)) ?? anonymous(text, id);
  return { answer, others: messages.filter((said) => said !== answer && said.kind !== 'response') };
}

/** A reply has few events and lines. Further ones are not read, because each of them costs more than its characters. */
const maxEvents = 1_000;
const maxLines = 200_000;

function eventsIn(text: string): string[] {
  const events: string[] = [];
  const parser = new EventParser(({ data }) => {
    if (events.length < maxEvents) events.push(data);
  });
  parser.feed(`${firstLines(text.trimStart().replace(/\r\n?/g, '\n'))}\n\n`);
  return events;
}

function firstLines(text: string): string {
  let end = -1;
  for (let lines = 0; lines < maxLines; lines++) {
    end = text.indexOf('\n', end + 1);
    if (end === -1) return text;
  }
  return text.slice(0, end);
}

/**
 * Reads a response without the ID of the request as the answer, in a reply to this request only. A server that refuses a request may not
 * repeat its ID.
 */
function anonymous(text: string, id: RequestId): string | undefined {
  let value: unknown;
  try {
    value = readValue(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { error, result } = value;
  if (isObject(error) && typeof error['message'] !== 'string') return undefined;
  if (!isObject(error) && (result === undefined || result === null)) return undefined;
  // Clients refuse other members.
  return JSON.stringify({ jsonrpc: '2.0', id, ...(isObject(error) ? { error } : { result }) });
}

/**
 * Takes a response in the stream of a request as its answer if the response names no request, or refuses one under a made-up
 * ID. Everything else stays the same.
 */
export function asAnswer(said: string | Message, id: RequestId): string | Message {
  const text = typeof said === 'string' ? said : said.text;
  if (typeof said !== 'string' && !isMadeUpRefusal(said, id)) return said;
  const answer = anonymous(text, id);
  return answer === undefined ? said : readMessage(answer);
}

/** Whether a response refuses a request under a name that the server made up. A number may belong to another request. */
function isMadeUpRefusal({ kind, value }: Message, id: RequestId): boolean {
  const isNumeric = Number.isFinite(Number(value.id));
  return kind === 'response' && value.error !== undefined && typeof id === 'number' && !isNumeric;
}

const maxShown = 200;

/** Describes a response without an answer, for an error. `reach` is how the server is reached. */
export function describeAnswer(answer: Answer, text: string, reach: Reach): string {
  const { statusCode, headers } = answer;
  const { location } = headers;
  const isRedirect = statusCode >= 300 && statusCode < 400 && typeof location === 'string';
  if (isRedirect)
    return `the server returned status ${statusCode}, which leads to ${escaped(location.slice(0, maxShown))}${fixFor(location, reach)}`;
  const mediaType = mediaTypeOf(headers);
  const type = mediaType === '' || mediaType === 'application/json' ? '' : ` with ${escaped(mediaType)}`;
  const said = shown(text);
  const pauseMs = askedPauseMs(answer);
  const pause = pauseMs === undefined ? '' : `, and asks to wait ${Math.ceil(pauseMs / 1000)} s`;
  return `the server returned status ${statusCode}${type}${pause}${said === '' ? '' : `: ${said}`}`;
}

/** The start of a text that is not a message, for an error. */
export function shown(text: string): string {
  const said = text.trim();
  return escaped(said.length > maxShown ? `${said.slice(0, maxShown)}…` : said);
}

/** What the user can do about a redirect that is not followed, because another server would get messages and tokens. */
function fixFor(location: string, { origin, isLocal }: Reach): string {
  const target = URL.parse(location, origin);
  if (target === null || isLocal || !/^https?:$/.test(target.protocol)) return '';
  return target.origin === origin
    ? ', a redirect that does not end'
    : '; ToolHive does not follow redirects to another host or port, so if you trust that address, use it as the URL of the server';
}
