import { closeBrace, closeBracket, comma, openBrace, openBracket, quote } from '@toolhive/contract/json-text';
import { withoutSequences } from '@toolhive/contract/printable';
import { almostJson } from './almost-json.ts';
import {
  MalformedMessage,
  elementsOf,
  isObject,
  membersOf,
  readMessage,
  readValue,
  requireWithinLimits,
} from './message.ts';
import type { Message } from './message.ts';
import type { Tolerance } from './tolerances.ts';

/** The messages in a text that is not a message itself. */
export interface Recovered {
  messages: Message[];
  tolerances: ReadonlySet<Tolerance>;
  /** The text beside the messages. A server may quote messages in its log, so only answers to open calls count then. */
  around: string;
}

const maxMessages = 100;
/** How many places a message may begin at. Each is read once, so a hostile text costs a few readings. */
const maxStarts = 4;
/** Every message contains one of these, and most other lines contain none. */
const names = ['"method"', '"result"', '"error"'];
const maxChars = 8 * 1024 * 1024;

/**
 * Finds the messages in a text that `readMessage` refuses: between byte order marks, control sequences, and other text,
 * several in one text, in an array, or with members that mean nothing. Undefined if there are none, or if it is not clear which.
 */
export function recoverMessages(text: string): Recovered | undefined {
  if (text.length > maxChars || !names.some((name) => text.includes(name))) return undefined;
  const tolerances = new Set<Tolerance>();
  const bare = withoutControls(text);
  if (bare !== text) tolerances.add('controlBytes');
  const { values, before, after } = valuesIn(bare);
  const parts = values.map((value) => messagesIn(value, tolerances));
  const messages = parts.flat();
  if (messages.length === 0 || messages.length > maxMessages) return undefined;
  // JSON that is not a message, such as a line of a log, is other text.
  const first = parts.findIndex((part) => part.length > 0);
  const last = parts.findLastIndex((part) => part.length > 0);
  const ahead = [before, ...values.slice(0, first)].join(' ').trim();
  const behind = [...values.slice(last + 1), after].join(' ').trim();
  if (ahead !== '' && behind !== '') return undefined;
  const around = ahead + behind;
  if (around !== '') tolerances.add('text');
  if (last > first) tolerances.add('lines');
  return { messages, tolerances, around };
}

function messagesIn(written: string, tolerances: Set<Tolerance>): Message[] {
  try {
    requireWithinLimits(written); // before its strings are looked at one by one
    const text = almostJson(written);
    if (text !== written) tolerances.add('json');
    return messagesOf(text, tolerances);
  } catch (error) {
    if (error instanceof MalformedMessage) return [];
    throw error;
  }
}

const escape = '\u001b';
function withoutControls(text: string): string {
  const bare = text.includes(escape) ? withoutSequences(text) : text;
  let [start, end] = [0, bare.length];
  while (start < end && isControl(bare.charCodeAt(start))) start++;
  while (end > start && isControl(bare.charCodeAt(end - 1))) end--;
  return bare.slice(start, end);
}

const byteOrderMark = 0xfeff;

/** Bytes that stand for nothing, apart from the white space of JSON. */
function isControl(code: number): boolean {
  return (code < 0x20 && !isSpace(code)) || (code >= 0x7f && code <= 0x9f) || code === byteOrderMark;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The JSON objects and arrays that follow one another in a text, and the text around them. */
function valuesIn(text: string): { values: string[]; before: string; after: string } {
  const values: string[] = [];
  let start = startAfter(text, 0);
  let end: number | undefined;
  for (let tries = 1; start !== undefined; tries++) {
    end = endOf(text, start);
    if (end !== undefined || tries === maxStarts) break;
    start = startAfter(text, start + 1);
  }
  if (start === undefined || end === undefined) return { values, before: text, after: '' };
  const before = text.slice(0, start).trim();
  for (;;) {
    values.push(text.slice(start, end));
    const next = skipNothing(text, end);
    const isNext = startAfter(text, next, next) === next && values.length <= maxMessages;
    const nextEnd: number | undefined = isNext ? endOf(text, next) : undefined;
    if (nextEnd === undefined) return { values, before, after: text.slice(end).trim() };
    [start, end] = [next, nextEnd];
  }
}

function skipNothing(text: string, from: number): number {
  let at = from;
  while (at < text.length && (isSpace(text.charCodeAt(at)) || isControl(text.charCodeAt(at)))) at++;
  return at;
}

/** Where an object with a member, or an array of objects, may begin. */
function startAfter(text: string, from: number, last: number = text.length): number | undefined {
  for (let at = from; at <= last && at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code !== openBrace && code !== openBracket) continue;
    const next = text.charCodeAt(skipSpaces(text, at + 1));
    if (next === (code === openBrace ? quote : openBrace)) return at;
  }
  return undefined;
}

/** Few spaces, because every bracket of a text is looked at. */
function skipSpaces(text: string, from: number): number {
  let at = from;
  while (at < from + 8 && isSpace(text.charCodeAt(at))) at++;
  return at;
}

const backslash = 0x5c;

/** The end of a value whose brackets match. Undefined if they do not. */
function endOf(text: string, start: number): number | undefined {
  let depth = 0;
  let isInText = false;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === openBrace || code === openBracket) depth++;
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return at + 1;
  }
  return undefined;
}

function messagesOf(text: string, tolerances: Set<Tolerance>): Message[] {
  if (text.charCodeAt(0) !== openBracket) return [messageOf(text, tolerances)];
  const values = readValue(text);
  if (!Array.isArray(values) || values.length > maxMessages) return [];
  tolerances.add('batch');
  return elementsOf(text).map((element) => messageOf(element, tolerances));
}

function messageOf(text: string, tolerances: Set<Tolerance>): Message {
  try {
    return readMessage(text);
  } catch (error) {
    const normal = normalized(text, tolerances);
    if (normal === undefined) throw error;
    return readMessage(normal);
  }
}

/** The members that a response without `jsonrpc` may have. With others, it could be anything. */
const responseMembers: ReadonlySet<string> = new Set([
  'id',
  'result',
  'error',
  'jsonrpc',
  'method',
  'params',
]);

/** The same message as the protocol wants it, with every other byte unchanged. Undefined for anything else. */
function normalized(text: string, tolerances: Set<Tolerance>): string | undefined {
  const value = readValue(text);
  if (!isObject(value)) return undefined;
  const { jsonrpc, method, params, result, error } = value;
  const isResponse = isNothing(method) && (result !== undefined || error !== undefined);
  if (jsonrpc === undefined) {
    if (!isResponse || Object.keys(value).some((name) => !responseMembers.has(name))) return undefined;
  } else if (!['2.0', '1.0', 2, 1].includes(jsonrpc as string | number)) return undefined;
  if (jsonrpc !== '2.0') tolerances.add('version');
  const dropped = new Set(['jsonrpc']);
  const drop = (name: string): void => {
    if (value[name] === undefined) return;
    dropped.add(name);
    tolerances.add('nothing');
  };
  if (isNothing(method)) drop('method');
  if (isResponse || isNothing(params) || (Array.isArray(params) && params.length === 0)) drop('params');
  if (!isResponse && value['id'] === null) drop('id');
  if (!isResponse || (isNothing(error) && result !== undefined)) drop('error');
  if (!isResponse || (isNothing(result) && isObject(error))) drop('result');
  const members = membersOf(text).filter(([name]) => !dropped.has(name));
  const parts = members.map(
    ([name, raw]) => `${JSON.stringify(name)}:${memberOf(name, raw, value, tolerances)}`,
  );
  return `{${['"jsonrpc":"2.0"', ...parts].join(String.fromCharCode(comma))}}`;
}

function memberOf(
  name: string,
  raw: string,
  { error, params }: Record<string, unknown>,
  tolerances: Set<Tolerance>,
): string {
  if (name === 'error' && typeof error === 'string') {
    tolerances.add('errorText');
    return JSON.stringify({ code: -32000, message: error });
  }
  if (name !== 'params' || !isObject(params) || params['_meta'] !== null) return raw;
  tolerances.add('nothing');
  const rest = membersOf(raw).filter(([member]) => member !== '_meta');
  return `{${rest.map(([member, text]) => `${JSON.stringify(member)}:${text}`).join(',')}}`;
}

/** Whether servers write this for a missing value. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === false || value === '';
}
