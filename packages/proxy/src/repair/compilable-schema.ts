import { isObject } from '../jsonrpc/message.ts';

type Schema = Record<string, unknown>;

/** The types of JSON Schema. */
export const schemaTypes: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'object',
  'array',
]);

const isNumber = (value: unknown): boolean => typeof value === 'number';
const isText = (value: unknown): boolean => typeof value === 'string';
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);

type Check = (value: unknown, budget: PatternBudget) => boolean;

/** The values that keywords must have, so that a validator can be made of the schema. */
const keywords: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'type',
    (value) =>
      Array.isArray(value)
        ? value.every((type) => schemaTypes.has(type))
        : schemaTypes.has(value) || value === '', // an empty one compiles, and means nothing
  ],
  ['enum', (value) => Array.isArray(value) && value.length > 0],
  ['uniqueItems', isBoolean],
  ['pattern', isPattern],
  [
    'patternProperties',
    (value, budget) => isObject(value) && Object.keys(value).every((name) => isPattern(name, budget)),
  ],
  ['items', (value) => isSchema(value) || Array.isArray(value)],
  ...checks(isNumber, ['maximum', 'minimum', 'exclusiveMaximum', 'exclusiveMinimum', 'multipleOf']),
  ...checks(isNumber, ['maxLength', 'minLength', 'maxItems', 'minItems', 'maxProperties', 'minProperties']),
  ...checks(isText, ['$ref', 'format']),
  ...checks(isObject, ['properties', 'dependencies', 'dependentRequired', 'dependentSchemas']),
  ...checks(Array.isArray, ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'required']),
]);

function checks(check: Check, names: readonly string[]): [string, Check][] {
  return names.map((name) => [name, check]);
}

/** The keywords with one schema, with a list of schemas, and with schemas by name. */
const single = new Set([
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
]);
const several = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const named = new Set(['dependentSchemas', 'patternProperties', 'properties']);

/** How long the patterns in one list may be together. Their syntax is checked, which costs more than reading them. */
export const maxPatternChars = 100_000;

/** The rest of that. */
export interface PatternBudget {
  chars: number;
}

/** A schema with more parts is not worth its validation. */
const maxParts = 20_000;

/**
 * Whether clients can make a validator of a schema: keywords have values of the right types, and references lead to a
 * part of the schema. Parts to which no reference leads are not looked at, as in clients.
 */
export function isCompilable(schema: Schema, budget: PatternBudget): boolean {
  const seen = new Set<unknown>();
  const followed = new Set<string>();
  const waiting: unknown[] = [schema];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (typeof part === 'boolean' || seen.has(part)) continue;
    if (!isObject(part) || seen.size >= maxParts) return false;
    seen.add(part);
    for (const name in part) {
      const value = part[name];
      if (keywords.get(name)?.(value, budget) === false) return false;
      if (single.has(name) || (name === 'items' && !Array.isArray(value))) waiting.push(value);
      else if (several.has(name)) for (const one of value as unknown[]) waiting.push(one);
      else if (named.has(name)) for (const key in value as Schema) waiting.push((value as Schema)[key]);
    }
    const { $ref, nullable, type } = part;
    if (nullable !== undefined && type === undefined) return false;
    if (typeof $ref !== 'string' || followed.has($ref)) continue;
    followed.add($ref);
    const target = targetOf(schema, $ref);
    if (target === undefined) return false;
    waiting.push(target);
  }
  return true;
}

function isPattern(pattern: unknown, budget: PatternBudget): boolean {
  if (typeof pattern !== 'string') return false;
  budget.chars -= pattern.length;
  if (budget.chars < 0) return false;
  try {
    return new RegExp(pattern, 'u').unicode; // throws for a wrong one
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
    const name = decoded(token);
    if (name === undefined || typeof target !== 'object' || target === null) return undefined;
    if (!Object.hasOwn(target, name)) return undefined;
    target = (target as Schema)[name];
  }
  return isSchema(target) ? target : undefined;
}

/** RFC 6901, section 6. */
function decoded(token: string): string | undefined {
  if (!token.includes('%') && !token.includes('~')) return token;
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
