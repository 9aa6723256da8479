import { isObject } from '../jsonrpc/message.ts';

type Schema = Record<string, unknown>;

const types: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'object',
  'array',
  '', // compiles, and means nothing
]);

const isNumber = (value: unknown): boolean => typeof value === 'number';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);

/** What the values of keywords must be, so that a validator can be made of the schema. */
const keywords: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) =>
    Array.isArray(value) ? value.every((type) => types.has(type) && type !== '') : types.has(value),
  enum: (value) => Array.isArray(value) && value.length > 0,
  required: Array.isArray,
  uniqueItems: isBoolean,
  pattern: isPattern,
  format: (value) => typeof value === 'string',
  $ref: (value) => typeof value === 'string',
  properties: isObject,
  patternProperties: (value) => isObject(value) && Object.keys(value).every(isPattern),
  dependencies: isObject,
  dependentRequired: isObject,
  dependentSchemas: isObject,
  items: (value) => isSchema(value) || Array.isArray(value),
  allOf: Array.isArray,
  anyOf: Array.isArray,
  oneOf: Array.isArray,
  prefixItems: Array.isArray,
  ...Object.fromEntries(
    ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf'].map((name) => [
      name,
      isNumber,
    ]),
  ),
  ...Object.fromEntries(
    ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties'].map((name) => [
      name,
      isNumber,
    ]),
  ),
};

/** The keywords with one schema, with a list of schemas, and with schemas by name. */
const single = [
  'additionalItems',
  'additionalProperties',
  'contains',
  'else',
  'if',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];
const several = ['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems'];
const named = ['dependentSchemas', 'patternProperties', 'properties'];

const maxPatternChars = 10_000;
/** A schema with more parts is not worth its validation. */
const maxParts = 20_000;

/**
 * Whether clients can make a validator of a schema: keywords have values of the right types, and references lead to a
 * part of the schema. Parts to which no reference leads are not looked at, as in clients.
 */
export function isCompilable(schema: Schema): boolean {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [schema];
  const follow = (part: unknown): void => {
    if (part !== undefined) waiting.push(part);
  };
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (isBoolean(part) || seen.has(part)) continue;
    if (!isObject(part) || seen.size >= maxParts || !hasSoundKeywords(part)) return false;
    seen.add(part);
    for (const name of single) follow(part[name]);
    for (const name of several) {
      const parts = part[name];
      if (Array.isArray(parts)) waiting.push(...(parts as unknown[]));
      else if (name === 'items') follow(parts);
    }
    for (const name of named) waiting.push(...Object.values((part[name] ?? {}) as Schema));
    const { $ref } = part;
    if (typeof $ref !== 'string') continue;
    const target = targetOf(schema, $ref);
    if (target === undefined) return false;
    waiting.push(target);
  }
  return true;
}

function hasSoundKeywords(part: Schema): boolean {
  if (part['nullable'] !== undefined && part['type'] === undefined) return false;
  for (const [name, value] of Object.entries(part))
    if (Object.hasOwn(keywords, name) && keywords[name]?.(value) === false) return false;
  return true;
}

function isPattern(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || pattern.length > maxPatternChars) return false;
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

/** The part of a schema that a reference names. Undefined if there is none. */
function targetOf(schema: Schema, reference: string): unknown {
  if (reference === '#' || reference === '#/') return schema;
  if (!reference.startsWith('#/')) return undefined; // an anchor, or another document that clients do not load
  let target: unknown = schema;
  for (const token of reference.slice(2).split('/')) {
    if (typeof target !== 'object' || target === null) return undefined;
    const name = decoded(token);
    if (name === undefined || !Object.hasOwn(target, name)) return undefined;
    target = (target as Schema)[name];
  }
  return isSchema(target) ? target : undefined;
}

/** RFC 6901, section 6. */
function decoded(token: string): string | undefined {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
