import { isObject } from '../jsonrpc/message.ts';

/** A parameter of a tool whose value is repeated in a header (MCP 2026-07-28, Streamable HTTP, Custom Headers). */
export interface MirroredParameter {
  /** The header in lower case. */
  header: string;
  /** The path to the value in the arguments. */
  path: readonly string[];
}

/** How deep schemas are searched. */
const maxDepth = 16;
/** More headers than this are more than most servers accept. */
const maxMirrored = 100;
/** RFC 9110, section 5.6.2. */
const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Only these can be repeated in a header. */
const mirroredTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Returns the mirrored parameters of a tool's schema: those that are reached through `properties` alone. */
export function mirroredIn(schema: unknown, path: readonly string[] = []): MirroredParameter[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties) || path.length > maxDepth) return [];
  return Object.entries(properties).flatMap(([name, part]) => {
    const here = [...path, name];
    const header = isObject(part) && mirroredTypes.has(part['type']) ? part['x-mcp-header'] : undefined;
    const own =
      typeof header === 'string' && isToken.test(header)
        ? [{ header: `mcp-param-${header.toLowerCase()}`, path: here }]
        : [];
    return [...own, ...mirroredIn(part, here)];
  });
}

/**
 * Whether clients can call a tool with this schema over streamable HTTP: every annotation is one that can be repeated in a
 * header, each in another one. Clients exclude other tools (MCP 2026-07-28, Streamable HTTP, Custom Headers).
 */
export function isMirrorable(schema: unknown): boolean {
  const annotations = annotationsIn(schema, 0);
  if (annotations === 0 || annotations > maxMirrored) return annotations === 0;
  const headers = mirroredIn(schema).map(({ header }) => header);
  return new Set(headers).size === headers.length && headers.length === annotations;
}

/** Counts the annotations anywhere in a schema. */
function annotationsIn(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > 4 * maxDepth) return 0;
  const own =
    isObject(value) && value['x-mcp-header'] !== undefined && !isObject(value['x-mcp-header']) ? 1 : 0;
  return Object.values(value).reduce<number>((sum, part) => sum + annotationsIn(part, depth + 1), own);
}

/** Returns a parameter value as text. Returns undefined if the value is absent or null. */
export function mirroredValue(args: unknown, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((part, step) => (isObject(part) ? part[step] : undefined), args);
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
