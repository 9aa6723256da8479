import { invalid } from './failure.ts';

/** The characters of JSON's structure (RFC 8259, section 2) by their codes. */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
const backslash = 0x5c;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/** The limits of a JSON text, which keep the time and the memory of parsing small. */
export interface JsonLimits {
  /** The maximum nesting depth of objects and arrays. */
  depth: number;
  /** The maximum number of objects, arrays, and members. */
  parts?: number;
  /** The maximum number of array elements and members. */
  elements?: number;
}

/**
 * Parses external JSON. Throws `invalid` for text that is nested too deeply, is not JSON, or has a
 * member `__proto__`. `what` names the text in the message, which contains nothing of the text itself.
 */
export function parseJson(text: string, what: string, { maxDepth }: { maxDepth: number }): unknown {
  const excess = excessOf(text, { depth: maxDepth });
  if (excess !== undefined) throw invalid(`${what} ${excess}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(`${what} is not JSON`); // without its cause, which quotes the text
  }
  if (hasProtoMember(text, value)) throw invalid(`${what} has a member __proto__, which is not accepted`);
  return value;
}

/** The value of a short JSON text, because models often write an object as its text. Returns anything else as it is. */
export function readObject(given: unknown): unknown {
  if (typeof given !== 'string' || given.length > 100_000) return given;
  try {
    return parseJson(given, 'the text', { maxDepth: 100 });
  } catch {
    return given; // its schema refuses a text
  }
}

/**
 * Returns the exceeded limit of a text, as a phrase that continues the name of the text, or undefined. The text can be
 * anything, including invalid JSON. Brackets inside strings do not count.
 */
export function excessOf(text: string, limits: JsonLimits): string | undefined {
  const { depth: maxDepth, parts: maxParts = Infinity, elements: maxElements = Infinity } = limits;
  if (text.length <= maxDepth) return undefined;
  let depth = 0;
  let parts = 0;
  let elements = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = skipString(text, at) - 1;
      if (at < 0) break; // A parser reads everything before it.
    } else if (code === comma) elements++;
    else if (code === colon) parts++;
    else if (code === openBrace || code === openBracket) {
      parts++;
      if (++depth > maxDepth) return `nests deeper than ${maxDepth} levels`;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  if (parts > maxParts) return `has more than ${maxParts} objects, arrays, and members`;
  return elements > maxElements ? `has more than ${maxElements} elements` : undefined;
}

/**
 * Does a JSON value contain a member `__proto__`, at any depth? Schemas drop such a member, and copying it can change
 * the prototype of an object, so it is refused instead.
 */
function hasProtoMember(text: string, value: unknown): boolean {
  return /__proto__|\\u00/.test(text) && containsProto(value);
}

function containsProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(containsProto);
}

/** Returns the offset after the closing quote, given the opening one. 0 if the string has no end. */
export function skipString(text: string, at: number): number {
  for (;;) {
    at = text.indexOf('"', at + 1);
    if (at === -1) return 0;
    let escapes = at - 1;
    while (text.charCodeAt(escapes) === backslash) escapes--;
    if ((at - escapes) % 2 === 1) return at + 1;
  }
}
