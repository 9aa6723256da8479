import { elementsOf, isObject, replaceAt, spanOf } from '@toolhive/proxy/message';
import { renamedApp } from './catalog.ts';

/** The result of a server, as its text and as the value. */
export interface Passed {
  readonly json: string;
  readonly result: unknown;
}

type Part = Record<string, unknown>;
type Rename = (uri: string) => string;

/** The members of results that contain links: those of tools, and those of prompts. */
const lists = ['content', 'messages'] as const;

/** The parts of the result of a tool or a prompt that can name a resource. */
export function partsOf(result: unknown): Part[] {
  if (!isObject(result)) return [];
  return lists.flatMap((list) => {
    const parts = result[list];
    return Array.isArray(parts) ? parts.filter(isObject).map((part) => contentOf(part) ?? part) : [];
  });
}

/**
 * Returns the result of a tool or a prompt with the URIs by which clients find its resources, and the page of its app. Parts
 * without such a URI stay as they are.
 */
export function renamedLinks(json: string, result: unknown, rename: Rename): string {
  if (!isObject(result)) return json;
  const renamed = lists.reduce((text, list) => withParts(text, list, result[list], rename), json);
  const meta = renamedApp(result['_meta'], rename);
  return meta === undefined ? renamed : withMember(renamed, '_meta', JSON.stringify(meta));
}

function withParts(json: string, list: string, parts: unknown, rename: Rename): string {
  if (!Array.isArray(parts)) return json;
  const changed = parts.map((part: unknown) => (isObject(part) ? renamedPart(part, rename) : undefined));
  const span = changed.some((part) => part !== undefined) ? spanOf(json, [list]) : undefined;
  if (span === undefined) return json;
  const texts = elementsOf(json.slice(...span)).map((text, at) =>
    changed[at] === undefined ? text : JSON.stringify(changed[at]),
  );
  return replaceAt(json, span, `[${texts.join(',')}]`);
}

function withMember(json: string, name: string, text: string): string {
  const span = spanOf(json, [name]);
  return span === undefined ? json : replaceAt(json, span, text);
}

/** The part with another URI. Undefined if the URI stays the same. */
function renamedPart(part: Part, rename: Rename): Part | undefined {
  const content = contentOf(part);
  if (content !== undefined) {
    const renamed = renamedPart(content, rename);
    return renamed && { ...part, content: renamed };
  }
  const { type, resource } = part;
  if (type === 'resource_link') return withUri(part, rename);
  if (type !== 'resource' || !isObject(resource)) return undefined;
  const renamed = withUri(resource, rename);
  return renamed && { ...part, resource: renamed };
}

function withUri(part: Part, rename: Rename): Part | undefined {
  const { uri } = part;
  if (typeof uri !== 'string') return undefined;
  const renamed = rename(uri);
  return renamed === uri ? undefined : { ...part, uri: renamed };
}

/** The content of a message of a prompt. */
function contentOf({ role, content }: Part): Part | undefined {
  return typeof role === 'string' && isObject(content) ? content : undefined;
}
