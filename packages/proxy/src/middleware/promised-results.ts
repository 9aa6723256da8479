import { charsOf } from '../connection/list-size.ts';
import { MalformedMessage, isObject, onOneLine, readValue, spanOf, withResult } from '../jsonrpc/message.ts';
import type { Message, Span } from '../jsonrpc/message.ts';
import { isComplete } from '../repair/results.ts';
import { withChanges } from '../repair/shapes.ts';
import type { CallContext, Middleware } from './middleware.ts';
import { withReadable } from './result-repair.ts';
import type { ResultRepairOptions } from './result-repair.ts';

/** What the output schema of a tool says about its results. */
interface Promised {
  /** The members that every result has. */
  required: readonly string[];
  /** The only members that a result can have. Undefined if there can be others. */
  only: ReadonlySet<string> | undefined;
  /** Whether the only member, `result`, contains values other than objects. The type of the member follows. */
  wraps: { type: unknown } | undefined;
}

/** More tools are not followed, and neither are those whose own name and names of members are longer together. */
const maxTools = 5_000;
const maxChars = 16 * 1024;

/**
 * Gives results both forms that MCP wants, text and structure, because clients refuse or ignore one of them:
 * - Clients refuse the result of a tool that has an output schema and returns only text. The text is usually the structured
 *   result. If it is not, the tool has no output schema in later lists.
 * - They refuse an error whose structure is not that of the output schema, and show nothing of what went wrong.
 * - Many show only text.
 */
export function promisedResults({
  repairsResults,
}: Pick<ResultRepairOptions, 'repairsResults'>): Middleware | undefined {
  return repairsResults === true ? new PromisedResults() : undefined;
}

class PromisedResults implements Middleware {
  readonly isObserver = true; // refuses nothing
  readonly #promised = new Map<string, Promised>();
  /** The lists that were read. Those that are repeated are the same object. */
  readonly #seen = new WeakSet<object>();
  /** The tools that did not keep their promise. */
  readonly #broken = new Set<string>();

  readonly message = ({ direction, message, request }: CallContext): Message => {
    const { result } = message.value;
    if (direction === 'to server' || message.kind !== 'response' || !isObject(result)) return message;
    const { method, params } = request?.value ?? {};
    if (method === 'tools/list') return this.#listed(message, result);
    const name = params?.['name'];
    return method === 'tools/call' && typeof name === 'string'
      ? this.#called(message, result, name)
      : message;
  };

  #listed(message: Message, result: Record<string, unknown>): Message {
    const { tools } = result;
    if (!Array.isArray(tools)) return message;
    if (!this.#seen.has(result)) for (const tool of tools as unknown[]) this.#remember(tool);
    this.#seen.add(result);
    if (this.#broken.size === 0) return message;
    const after = tools.map((tool: unknown) =>
      isObject(tool) && 'outputSchema' in tool && this.#broken.has(String(tool['name']))
        ? withChanges(tool, new Map([['outputSchema', undefined]]))
        : tool,
    );
    if (after.every((tool, index) => tool === tools[index])) return message;
    return withReadable(message, result, { ...result, tools: after });
  }

  #remember(tool: unknown): void {
    if (!isObject(tool) || typeof tool['name'] !== 'string') return;
    const { name, outputSchema } = tool;
    this.#promised.delete(name);
    if (!isObject(outputSchema) || this.#promised.size >= maxTools) return;
    const promised = promisedBy(outputSchema);
    if (charsOf([name, promised.required, [...(promised.only ?? [])]]) <= maxChars)
      this.#promised.set(name, promised);
  }

  #called(message: Message, result: Record<string, unknown>, name: string): Message {
    const { structuredContent, isError } = result;
    if (!isComplete(result)) return message;
    const promised = this.#promised.get(name);
    const hasStructure = structuredContent !== undefined && structuredContent !== null;
    if (hasStructure) {
      const isRefused =
        promised !== undefined && isError === true && !isAsPromised(structuredContent, promised);
      return isRefused ? withoutStructure(withText(message)) : withText(message);
    }
    if (promised === undefined || isError === true) return message;
    const structured = structuredIn(result['content'], promised);
    if (structured !== undefined) return withStructured(message, result, structured);
    if (structuredContent === undefined) this.#broken.add(name);
    return message;
  }
}

function promisedBy({ properties, required, additionalProperties }: Record<string, unknown>): Promised {
  const names: unknown[] = Array.isArray(required) ? required : [];
  const known = isObject(properties) ? properties : {};
  const { result } = known;
  const isOnly = Object.keys(known).length === 1 && isObject(result);
  return {
    required: names.filter((name) => typeof name === 'string'),
    only: additionalProperties === false ? new Set(Object.keys(known)) : undefined,
    wraps: isOnly ? { type: Array.isArray(result['type']) ? 'several' : result['type'] } : undefined,
  };
}

/** A structured result with its JSON. */
interface Structured {
  value: Record<string, unknown>;
  json: string;
}

/** The structured result in a result that is one text. Undefined if the text is something else. */
function structuredIn(content: unknown, { required, wraps }: Promised): Structured | undefined {
  const [part, ...others]: unknown[] = Array.isArray(content) ? content : [];
  if (!isObject(part) || part['type'] !== 'text' || others.length > 0) return undefined;
  const { text } = part;
  if (typeof text !== 'string') return undefined;
  const value = parsed(text);
  const json = onOneLine(text.trim());
  if (isObject(value) && required.every((name) => Object.hasOwn(value, name))) return { value, json };
  if (wraps === undefined) return undefined;
  if (wraps.type === 'string' || (wraps.type === undefined && value === undefined))
    return { value: { result: text }, json: JSON.stringify({ result: text }) };
  if (value === undefined || !isOfType(value, wraps.type)) return undefined;
  return { value: { result: value }, json: `{"result":${json}}` };
}

/** The value of a JSON text within the limits of messages, because the text becomes a part of one. */
function parsed(text: string): unknown {
  try {
    return readValue(text);
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'number':
    case 'integer':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return type === undefined;
  }
}

/** Adds the JSON as it is, so that large numbers survive. */
function withStructured(message: Message, result: Record<string, unknown>, structured: Structured): Message {
  const place = placeIn(message.text, structured.json);
  return place === undefined
    ? message
    : withResult(message, { ...result, structuredContent: structured.value }, place);
}

/** The place of the member, which may be null, or of a new one in front of the others. Undefined if there are two. */
function placeIn(text: string, json: string): { span: Span; replacement: string } | undefined {
  try {
    const span = spanOf(text, ['result', 'structuredContent']);
    if (span !== undefined) return { span, replacement: json };
    const [start] = spanOf(text, ['result']) ?? [];
    if (start === undefined) return undefined;
    return { span: [start + 1, start + 1], replacement: `"structuredContent":${json},` };
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

/** Whether a structure has the members of the output schema. Their values are not compared. */
function isAsPromised(structure: unknown, { required, only }: Promised): boolean {
  if (!isObject(structure) || !required.every((name) => Object.hasOwn(structure, name))) return false;
  return only === undefined || Object.keys(structure).every((name) => only.has(name));
}

/** Adds the structure as text to a result without any content. */
function withText(message: Message): Message {
  const { result } = message.value;
  if (!isObject(result) || !Array.isArray(result['content']) || result['content'].length > 0) return message;
  const [content, structure] = [spanIn(message.text, 'content'), spanIn(message.text, 'structuredContent')];
  if (content === undefined || structure === undefined) return message;
  const { structuredContent } = result;
  const text = typeof structuredContent === 'string' ? structuredContent : message.text.slice(...structure);
  const parts = [{ type: 'text', text }];
  return withResult(
    message,
    { ...result, content: parts },
    { span: content, replacement: JSON.stringify(parts) },
  );
}

function withoutStructure(message: Message): Message {
  const { result } = message.value;
  if (!isObject(result)) return message;
  return withReadable(message, result, withChanges(result, new Map([['structuredContent', undefined]])));
}

/** The place of a member of the result. Undefined if there are two. */
function spanIn(text: string, member: string): Span | undefined {
  try {
    return spanOf(text, ['result', member]);
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}
