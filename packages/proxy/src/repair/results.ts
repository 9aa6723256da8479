import { isObject } from '../jsonrpc/message.ts';
import { readableCapabilities, readableServerInfo } from '../protocol/server-identity.ts';
import { contents } from './contents.ts';
import { currentSchema } from './current-schema.ts';
import { prompt, resource, resourceContents, template, tools } from './items.ts';
import {
  Unreadable,
  list,
  object,
  optional,
  optionalObject,
  metadata,
  repaired,
  text,
  withChanges,
} from './shapes.ts';
import type { Repair } from './shapes.ts';
import { legacyInputSchema, legacyOutputSchema } from './tool-schemas.ts';

/** The things in a list. */
export interface ListedThings {
  /** The member of the result with the list. */
  member: string;
  /** The kind of one of them. */
  kind: 'tool' | 'prompt' | 'resource' | 'resource-template';
  /** The member that names one of them. */
  key: string;
  /** Returns the repair of the things in one list. */
  item: () => Repair;
}

/** The lists that clients refuse as a whole if one thing in them is wrong, by method. */
export const listedThings: Readonly<Record<string, ListedThings>> = {
  'tools/list': { member: 'tools', kind: 'tool', key: 'name', item: tools },
  'prompts/list': { member: 'prompts', kind: 'prompt', key: 'name', item: () => prompt },
  'resources/list': { member: 'resources', kind: 'resource', key: 'uri', item: () => resource },
  'resources/templates/list': {
    member: 'resourceTemplates',
    kind: 'resource-template',
    key: 'uriTemplate',
    item: () => template,
  },
};

/** Returns a listed thing in a form that clients can read, the same one if they can read it. Undefined if there is none. */
export function readableThing(kind: string, value: unknown): unknown {
  const things = Object.values(listedThings).find((one) => one.kind === kind);
  const after = things === undefined ? value : repaired(value, things.item());
  return after instanceof Unreadable ? undefined : after;
}

const orEmpty =
  (repair: Repair): Repair =>
  (value, parent) =>
    repair(value, parent) ?? [];

/** A cursor is text. Servers that count write numbers, and read the text of one as well. */
const cursor: Repair = (value) =>
  typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined;

/** Whatever a server means by it, a call that it calls an error is one. */
const isError: Repair = (value, result) => {
  if (value === undefined && Object.hasOwn(result, 'is_error')) return isError(result['is_error'], none);
  if (value === undefined && isOnlyError(result)) return true;
  if (value === undefined || typeof value === 'boolean') return value;
  const isZero = value === null || value === 0;
  const isDenied = typeof value === 'string' && /^(?:false|no|0)?$/i.test(value);
  return isZero || isDenied ? undefined : true;
};

const none: Record<string, unknown> = {};

/** Whether a result consists of an error instead of contents. */
function isOnlyError(result: Record<string, unknown>): boolean {
  const { content, structuredContent, error } = result;
  return isNothing(content) && isNothing(structuredContent) && !isNothing(error) && error !== false;
}

const isNothing = (value: unknown): boolean => value === undefined || value === null;

/** The members of the result of a call. */
const ofResult = new Set(['content', 'structuredContent', 'isError', 'is_error', '_meta', 'resultType']);

/** What a server writes in the place of contents: the only other member, or all of them. */
function otherText(result: Record<string, unknown>): unknown[] {
  const others = Object.entries(result).filter(([name, value]) => !ofResult.has(name) && !isNothing(value));
  const [only, ...more] = others;
  if (only === undefined) return [];
  return [{ type: 'text', text: textOf(more.length === 0 ? only[1] : Object.fromEntries(others)) }];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const toolResult = object({
  content(value, result) {
    const { structuredContent } = result;
    if (!isNothing(value)) return contents(value, none);
    if (isNothing(structuredContent)) return otherText(result);
    return [{ type: 'text', text: textOf(structuredContent) }];
  },
  isError,
  _meta: metadata,
});

/** The message has one content, so a list of contents is a message for each. */
function messagesIn(value: unknown): unknown {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  const after = all.flatMap(messagesOf);
  if (all !== value) return after;
  return after.length === all.length && after.every((one, index) => one === all[index]) ? value : after;
}

function messagesOf(value: unknown): unknown[] {
  const message = typeof value === 'string' ? { content: value } : value;
  if (!isObject(message)) return [];
  const { role, content } = message;
  const parts = contents(content, {}) as unknown[]; // always a list
  const isRole = role === 'user' || role === 'assistant';
  if (isRole && !Array.isArray(content) && parts[0] === content) return [value];
  return parts.map((part) => ({ ...message, role: isRole ? role : 'user', content: part }));
}

const maxCompletions = 100;

const completion: Repair = (value) => {
  const after = optionalObject({
    values: (values, parent) => orEmpty(list(text))(values, parent),
    total: optional((total) => Number.isInteger(total)),
    hasMore: optional((hasMore) => typeof hasMore === 'boolean'),
  })(isObject(value) ? value : {}, {}) as { values: unknown[] };
  if (after.values.length <= maxCompletions) return after;
  return { ...after, values: after.values.slice(0, maxCompletions), hasMore: true };
};

/** Which results clients refuse, by method. `params` are those of the request. */
const results: Readonly<Record<string, (params: Record<string, unknown>) => Repair>> = {
  ...Object.fromEntries(
    Object.entries(listedThings).map(([method, { member, item }]) => {
      const result = (): Repair =>
        object({ [member]: orEmpty(list(item())), nextCursor: cursor, _meta: metadata });
      return [method, result];
    }),
  ),
  initialize: () =>
    object({
      capabilities: readableCapabilities,
      serverInfo: readableServerInfo,
      instructions: text,
      _meta: metadata,
    }),
  'tools/call': () => toolResult,
  'tasks/result': () => toolResult,
  'prompts/get': () => object({ messages: messagesIn, description: text, _meta: metadata }),
  'resources/read': ({ uri }) => {
    const one = list(resourceContents(uri));
    return object({
      contents: (value, parent) =>
        isObject(value) || typeof value === 'string' ? one([value], parent) : orEmpty(one)(value, parent),
      _meta: metadata,
    });
  },
  'completion/complete': () => object({ completion, _meta: metadata }),
};

/** The results that are the list itself, without an object around it. */
const bareLists: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(listedThings).map(([method, { member }]) => [method, member])),
  'tools/call': 'content',
  'prompts/get': 'messages',
  'resources/read': 'contents',
};

/** Returns a result of a method that clients can read, the same one if they can read it. */
export function readableResult(
  method: string,
  result: unknown,
  params: Record<string, unknown> = {},
): unknown {
  const whole = Object.hasOwn(results, method) ? results[method]?.(params) : undefined;
  const bare = Object.hasOwn(bareLists, method) ? bareLists[method] : undefined;
  const isBare = bare !== undefined && (Array.isArray(result) || typeof result === 'string');
  const found = isBare ? { [bare]: result } : isObject(result) ? result : {};
  if (mayBeIncomplete.has(method) && !isComplete(found)) return found;
  const after = repaired(found, whole ?? anything);
  return after instanceof Unreadable ? found : after;
}

const anything = object({ _meta: metadata });

/** Results of these methods may ask the client for something first, or tell where the result will be. */
const mayBeIncomplete: ReadonlySet<string> = new Set([
  'tools/call',
  'tasks/result',
  'prompts/get',
  'resources/read',
]);

/** Whether a result is the outcome of its request. */
export function isComplete({ resultType, task, inputRequests }: Record<string, unknown>): boolean {
  if (typeof resultType === 'string' && resultType !== 'complete') return false;
  return task === undefined && inputRequests === undefined;
}

const toolList = (members: Record<string, Repair>): Repair =>
  list((value) => (isObject(value) ? object(members)(value, {}) : value));
const toolsForModels = toolList({ inputSchema: (value) => (isObject(value) ? currentSchema(value) : value) });
const legacyTools = toolList({ inputSchema: legacyInputSchema, outputSchema: legacyOutputSchema });

/** Returns a list of tools with input schemas that models accept, the same one if they accept it. */
export function listForModels(result: Record<string, unknown>): Record<string, unknown> {
  return withTools(result, toolsForModels);
}

function withTools(result: Record<string, unknown>, repair: Repair): Record<string, unknown> {
  const { tools } = result;
  if (!Array.isArray(tools)) return result;
  const after = repair(tools, {});
  return after === tools ? result : withChanges(result, new Map([['tools', after]]));
}

/** Returns the result in the form of the versions before 2026-07-28, in which schemas and structured results are plain objects. */
export function legacyResult(method: string, result: Record<string, unknown>): Record<string, unknown> {
  if (method === 'tools/list') return withTools(result, legacyTools);
  const { structuredContent, content } = result;
  if (method !== 'tools/call' || structuredContent === undefined || isObject(structuredContent))
    return result;
  const isEmpty = Array.isArray(content) && content.length === 0 && structuredContent !== null;
  const said = isEmpty ? [{ type: 'text', text: textOf(structuredContent) }] : content;
  return withChanges(
    result,
    new Map<string, unknown>([
      ['structuredContent', undefined],
      ['content', said],
    ]),
  );
}
