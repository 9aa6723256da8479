import {
  closeBrace,
  closeBracket,
  comma,
  excessOf,
  openBrace,
  openBracket,
  quote,
  skipString,
} from '@toolhive/contract/json-text';

/** A JSON-RPC 2.0 message and its source text, which can be forwarded unchanged. */
export interface Message {
  kind: 'request' | 'notification' | 'response';
  text: string;
  value: MessageValue;
  /** The position of the ID in the text. In a cancellation, the position of the canceled request's ID. */
  id?: Span;
  /** The place of its progress token in the text. */
  token?: Span;
  /** How the HTTP response that consists of this message differs from others. */
  http?: ResponseHead;
  /** What this answer has in common with others, and its own ID as JSON text. Absent if the text is unusual or changes. */
  repeated?: { readonly answer: RepeatedAnswer; readonly id: string };
}

/** An answer without its ID, which several requests got. Its text is `before`, the ID, and `after`. */
export interface RepeatedAnswer {
  readonly before: string;
  readonly after: string;
  readonly value: Omit<MessageValue, 'id'>;
}

/** The status and further headers of an HTTP response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** A place in a text. */
export type Span = readonly [start: number, end: number];

/** The parts of a message that the proxy reads. Everything else stays text. */
export interface MessageValue {
  id?: string | number;
  method?: string;
  params?: { [key: string]: unknown; _meta?: { [key: string]: unknown; progressToken?: unknown } };
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** A text is not a message. The code is that of the JSON-RPC error. */
export class MalformedMessage extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The error codes of JSON-RPC 2.0, section 5.1, and the code that MCP servers use for internal failures. */
export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  serverError: -32000,
} as const;

/** How errors begin that a transport reports in the place of the server. */
export const noAnswer = 'the server gave no answer';

/**
 * Reads one JSON-RPC message. Throws `MalformedMessage` for anything else, also if a member that the proxy may rewrite
 * appears twice: two readers could disagree about which one counts.
 */
export function readMessage(text: string): Message {
  const value = parse(text);
  const { id, method, params } = value;
  if (id !== undefined && typeof id !== 'string' && !(typeof id === 'number' && Number.isSafeInteger(id))) {
    throw new MalformedMessage(errorCodes.invalidRequest, 'the id must be a string or an integer');
  }
  if (method !== undefined && typeof method !== 'string') {
    throw new MalformedMessage(errorCodes.invalidRequest, 'the method must be a string');
  }
  if (method === undefined) {
    if (id === undefined || (value.result === undefined) === (value.error === undefined)) {
      throw new MalformedMessage(
        errorCodes.invalidRequest,
        'neither a request, a notification nor a response',
      );
    }
    if (value.error !== undefined && !isObject(value.error)) {
      throw new MalformedMessage(errorCodes.invalidRequest, 'the error must be an object');
    }
    return { kind: 'response', text, value, id: locate(text, ['id']) };
  }
  if (id !== undefined) {
    const hasToken = params?._meta?.progressToken !== undefined;
    const message: Message = { kind: 'request', text, value, id: locate(text, ['id']) };
    return hasToken ? { ...message, token: locate(text, ['params', '_meta', 'progressToken']) } : message;
  }
  if (method === 'notifications/progress' && params?.['progressToken'] !== undefined) {
    return { kind: 'notification', text, value, token: locate(text, ['params', 'progressToken']) };
  }
  if (method === 'notifications/cancelled' && params?.['requestId'] !== undefined) {
    return { kind: 'notification', text, value, id: locate(text, ['params', 'requestId']) };
  }
  return { kind: 'notification', text, value };
}

/** How many messages a batch may contain. */
const maxBatch = 100;

/** Reads a batch of messages (JSON-RPC 2.0, section 6). */
export function readBatch(text: string): Message[] {
  const values = readValue(text);
  if (!Array.isArray(values) || values.length === 0 || values.length > maxBatch) {
    const why = `several messages are an array of at least one and at most ${maxBatch}`;
    throw new MalformedMessage(errorCodes.invalidRequest, why);
  }
  return elementsOf(text).map(readMessage);
}

/** Returns the texts of the elements of a JSON array. The text must be valid. */
export function elementsOf(text: string): string[] {
  const elements: string[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(at) !== closeBracket) {
    const end = skipValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return elements;
}

/** Returns the names and the texts of the members of a JSON object. The text must be valid. */
export function membersOf(text: string): [name: string, value: string][] {
  const members: [string, string][] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = skipString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1); // past the colon
    const end = skipValue(text, start);
    members.push([JSON.parse(text.slice(at, keyEnd)) as string, text.slice(start, end)]);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === comma) at = skipSpace(text, at + 1);
  }
  return members;
}

/** A message beyond these limits takes more than a tenth of a second to parse, or cannot be serialized again. */
const limits = { depth: 500, parts: 100_000, elements: 1_000_000 };

/** Throws `MalformedMessage` for a text that no message can have. */
export function requireWithinLimits(text: string): void {
  const excess = excessOf(text, limits);
  if (excess !== undefined) throw new MalformedMessage(errorCodes.invalidRequest, `the message ${excess}`);
}

/** Returns the value of a JSON text. Throws `MalformedMessage` for one that is not valid or too large. */
export function readValue(text: string): unknown {
  requireWithinLimits(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedMessage(errorCodes.parseError, 'the body is not JSON');
  }
}

function parse(text: string): MessageValue {
  const value = readValue(text);
  if (Array.isArray(value)) {
    throw new MalformedMessage(
      errorCodes.invalidRequest,
      'batches are not accepted, send one message at a time',
    );
  }
  if (typeof value !== 'object' || value === null) {
    throw new MalformedMessage(errorCodes.invalidRequest, 'a message is a JSON object');
  }
  const { jsonrpc, params } = value as { jsonrpc?: unknown; params?: unknown };
  if (jsonrpc !== '2.0') throw new MalformedMessage(errorCodes.invalidRequest, 'jsonrpc must be "2.0"');
  if (params !== undefined && !isObject(params)) {
    throw new MalformedMessage(errorCodes.invalidParams, 'params must be an object');
  }
  if (isObject(params) && params['_meta'] !== undefined && !isObject(params['_meta'])) {
    throw new MalformedMessage(errorCodes.invalidParams, '_meta must be an object');
  }
  return value; // `readMessage` checks the ID and the method, and all other members are unknown
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the message with its ID and its progress token replaced by other JSON texts. Every other byte of its text
 * stays the same, so large numbers, the order of members, and white space survive.
 */
export function restate(
  message: Message,
  { newId, newToken }: { newId?: string; newToken?: string },
): Message {
  const { kind, id, token, repeated } = message;
  if (repeated !== undefined) return newId === undefined ? message : answerWith(repeated.answer, newId);
  let { text, value } = message;
  const spans: { id?: Span; token?: Span } = {};
  if (id !== undefined) spans.id = id;
  if (token !== undefined) spans.token = token;
  if (id !== undefined && newId !== undefined) {
    text = replaceAt(text, id, newId);
    spans.id = [id[0], id[0] + newId.length];
    if (token !== undefined) spans.token = movedBy(token, newId.length - (id[1] - id[0]), id);
    value = withIdValue(kind, value, newId);
  }
  const from = spans.token;
  if (from !== undefined && newToken !== undefined) {
    text = replaceAt(text, from, newToken);
    if (spans.id !== undefined) spans.id = movedBy(spans.id, newToken.length - (from[1] - from[0]), from);
    spans.token = [from[0], from[0] + newToken.length];
    value = withTokenValue(kind, value, newToken);
  }
  return { kind, text, value, ...spans };
}

/** Returns a repeated answer with an ID, which is a JSON text. Its text is copied only when it is read. */
export function answerWith(answer: RepeatedAnswer, id: string): Message {
  const { before, after, value } = answer;
  return {
    kind: 'response',
    text: before + id + after,
    value: { ...value, id: JSON.parse(id) as string | number },
    id: [before.length, before.length + id.length],
    repeated: { answer, id },
  };
}

const encoded = new WeakMap<RepeatedAnswer, { before: Buffer; after: Buffer }>();

/** Returns what surrounds the ID of a repeated answer in UTF-8. All requests share the buffers. */
export function encodedAround(answer: RepeatedAnswer): { before: Buffer; after: Buffer } {
  const known = encoded.get(answer);
  if (known !== undefined) return known;
  const parts = { before: Buffer.from(answer.before), after: Buffer.from(answer.after) };
  encoded.set(answer, parts);
  return parts;
}

/** Returns the size of a message in UTF-8. */
export function bytesOf({ text, repeated }: Message): number {
  if (repeated === undefined) return Buffer.byteLength(text);
  const { before, after } = encodedAround(repeated.answer);
  return before.length + Buffer.byteLength(repeated.id) + after.length;
}

/** Returns where `span` is after `changed` has grown by `growth` characters. */
function movedBy(span: Span, growth: number, changed: Span): Span {
  return span[0] > changed[0] ? [span[0] + growth, span[1] + growth] : span;
}

function withIdValue(kind: Message['kind'], value: MessageValue, newId: string): MessageValue {
  const id = newId.charCodeAt(0) === quote ? (JSON.parse(newId) as string) : Number(newId);
  if (kind !== 'notification') return { ...value, id };
  return { ...value, params: { ...value.params, requestId: id } }; // a cancellation
}

function withTokenValue(kind: Message['kind'], value: MessageValue, newToken: string): MessageValue {
  const progressToken: unknown = JSON.parse(newToken);
  const { params } = value;
  return kind === 'notification'
    ? { ...value, params: { ...params, progressToken } }
    : { ...value, params: { ...params, _meta: { ...params?._meta, progressToken } } };
}

/** Returns the exact JSON text of an ID or a token. */
export function written({ text }: Message, [start, end]: Span): string {
  return text.slice(start, end);
}

/**
 * Returns the place of the value at `path` in a JSON text, undefined if there is none. Throws `MalformedMessage` if a name
 * on the path appears twice.
 */
export function spanOf(text: string, path: readonly string[]): Span | undefined {
  let span: Span = [skipSpace(text, 0), text.length];
  for (const name of path) {
    const [start] = span;
    const found = text.charCodeAt(start) === openBrace ? member(text, start, name) : undefined;
    if (found === undefined) return undefined;
    span = found;
  }
  return span;
}

/** Returns the place of a value that is known to exist. */
function locate(text: string, path: readonly string[]): Span {
  const span = spanOf(text, path);
  if (span === undefined) {
    throw new MalformedMessage(errorCodes.invalidRequest, `the message has no ${path.join('.')}`);
  }
  return span;
}

/** Returns the text with the content of `span` replaced. */
export function replaceAt(text: string, [start, end]: Span, replacement: string): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/**
 * Returns the response with another result. Its text differs at one place, so a large result is not parsed again. The
 * caller answers for the same content in both.
 */
export function withResult(
  response: Message,
  result: Record<string, unknown>,
  { span, replacement }: { span: Span; replacement: string },
): Message {
  const { id, text, value, repeated: _changed, ...others } = response;
  const growth = replacement.length - (span[1] - span[0]);
  return {
    ...others,
    text: replaceAt(text, span, replacement),
    value: { ...value, result },
    ...(id === undefined ? {} : { id: movedBy(id, growth, span) }),
  };
}

/** Returns the place of the first member of the object at `path`, and how to write members before it. */
export function startOf(
  text: string,
  path: readonly string[],
  members: Readonly<Record<string, unknown>>,
): { span: Span; replacement: string } | undefined {
  const [start] = spanOf(text, path) ?? [];
  if (start === undefined) return undefined;
  const at = start + 1;
  const inserted = JSON.stringify(members).slice(1, -1);
  const isOnly = text.charCodeAt(skipSpace(text, at)) === closeBrace;
  return { span: [at, at], replacement: inserted === '' || isOnly ? inserted : `${inserted},` };
}

/**
 * Returns the text with members added at the start of the object at `path`, which must not contain them yet. Missing
 * objects on the path are created.
 */
export function insertMembers(
  text: string,
  path: readonly string[],
  members: Readonly<Record<string, unknown>>,
): string {
  const place = startOf(text, path, members);
  if (place !== undefined) return replaceAt(text, place.span, place.replacement);
  const name = path.at(-1);
  return name === undefined ? text : insertMembers(text, path.slice(0, -1), { [name]: members });
}

/**
 * Finds a member of the object that begins at `start`. Throws if there is a second one of that name: two readers could
 * disagree about which one counts.
 */
function member(text: string, start: number, name: string): Span | undefined {
  let found: Span | undefined;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = skipString(text, at);
    const isWanted = keyIs(text, at, keyEnd, name);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1); // past the colon
    const valueEnd = skipValue(text, valueStart);
    if (isWanted) {
      if (found !== undefined)
        throw new MalformedMessage(errorCodes.invalidRequest, `the message has two members ${name}`);
      found = [valueStart, valueEnd];
    }
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) !== comma) break;
    at = skipSpace(text, at + 1);
  }
  return found;
}

function keyIs(text: string, start: number, end: number, name: string): boolean {
  if (end - start - 2 === name.length && text.startsWith(name, start + 1)) return true;
  // The same name may be written with escapes, which is rare enough to be slow.
  const key = text.slice(start, end);
  return key.includes('\\') && JSON.parse(key) === name;
}

function skipSpace(text: string, at: number): number {
  while (text.charCodeAt(at) <= 0x20) at++;
  return at;
}

function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === quote) return skipString(text, at);
  if (first !== openBrace && first !== openBracket) return skipScalar(text, at);
  for (let depth = 0; ; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = skipString(text, at) - 1;
    else if (code === openBrace || code === openBracket) depth++;
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return at + 1;
  }
}

function skipScalar(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === comma || code === closeBrace || code === closeBracket) return at;
    at++;
    if (at >= text.length) return at;
  }
}

/** Returns a message on one line, as stdio requires. Raw line breaks in JSON are only white space. */
export function onOneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, ' ') : text;
}

const responseStart = '{"jsonrpc":"2.0","id":';

/** Returns a response with a result. `id` is the JSON text of the request's ID. */
export function resultMessage(id: string, result: object): Message {
  return response(id, `${responseStart}${id},"result":${JSON.stringify(result)}}`, { result });
}

/** Returns a response with an error. `id` is the JSON text of the request's ID, `null` if that is not known. */
export function errorMessage(id: string, code: number, message: string, data?: object): Message {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return response(id, `${responseStart}${id},"error":${JSON.stringify(error)}}`, { error });
}

function response(id: string, text: string, value: MessageValue): Message {
  const start = responseStart.length;
  const own = JSON.parse(id) as string | number | null;
  return {
    kind: 'response',
    text,
    value: own === null ? value : { ...value, id: own },
    id: [start, start + id.length],
  };
}

/** Returns a message that ToolHive makes itself: a request, or without an ID a notification. */
export function ownMessage(value: MessageValue & { method: string }): Message {
  return readMessage(JSON.stringify({ jsonrpc: '2.0', ...value }));
}

/** Returns a request with a `params` member, because a widely used SDK for clients requires one. */
export function withParams(request: Message): Message {
  if (request.value.params !== undefined) return request;
  return readMessage(insertMembers(request.text, [], { params: {} }));
}

/** Returns the ID of a request or a response as JSON text. Returns `null` without an ID. */
export function idText(message: Message): string {
  const { id, repeated } = message;
  return repeated?.id ?? (id === undefined ? 'null' : written(message, id));
}
