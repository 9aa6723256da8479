import { isObject } from '../jsonrpc/message.ts';
import { isCompilable } from './compilable-schema.ts';
import type { PatternBudget } from './compilable-schema.ts';
import { Unreadable, kindOf, withChanges } from './shapes.ts';
import type { Repair } from './shapes.ts';

/**
 * The input schema of a tool. Arguments are always an object, so a schema that does not name a type has the type
 * `object`, also if it is a combination of others. A schema of another type accepts no call.
 */
export const inputSchema: Repair = (value) => {
  if (isEmpty(value)) return { type: 'object' };
  if (!isObject(value)) return new Unreadable(`is ${kindOf(value)} instead of an object`);
  const type = objectTypeOf(value['type']);
  if (type === undefined)
    return new Unreadable(`has ${typeNameOf(value['type'])} instead of the type "object"`);
  return withObjectParts(value, type);
};

/**
 * The output schema of a tool. A client that cannot compile the schema refuses the whole list, and tools work
 * without one.
 */
export function outputSchema(budget: PatternBudget): Repair {
  return (value) => {
    if (!isObject(value)) return undefined;
    const whole = withObjectParts(value, isNoType(value['type']) ? undefined : value['type']);
    return isCompilable(whole, budget) ? whole : undefined;
  };
}

/**
 * The same for clients of versions before 2026-07-28, whose results are objects. A schema that is not certain to describe
 * objects is left out.
 */
export const legacyOutputSchema: Repair = (value) => {
  if (!isObject(value) || value['type'] === 'object') return value;
  const isCertain = isNoType(value['type']) ? isObject(value['properties']) : isOnlyObject(value['type']);
  return isCertain ? withChanges(value, new Map([['type', 'object']])) : undefined;
};

/** Whether a serializer wrote a schema without anything in it: PHP writes an empty list. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || typeof value === 'boolean') return true;
  return Array.isArray(value) && value.length === 0;
}

function isNoType(type: unknown): boolean {
  return type === undefined || type === null || type === '';
}

function objectTypeOf(type: unknown): 'object' | undefined {
  if (isNoType(type)) return 'object';
  if (Array.isArray(type)) return type.length === 0 || type.includes('object') ? 'object' : undefined;
  return typeof type === 'string' && type.toLowerCase() === 'object' ? 'object' : undefined;
}

function isOnlyObject(type: unknown): boolean {
  return Array.isArray(type) ? type.length === 1 && type[0] === 'object' : isObjectName(type);
}

function isObjectName(type: unknown): boolean {
  return typeof type === 'string' && type.toLowerCase() === 'object';
}

function typeNameOf(type: unknown): string {
  return typeof type === 'string' ? `the type ${JSON.stringify(type.slice(0, 40))}` : 'other types';
}

/** Returns the schema with a type, and without the forms of its other members that clients refuse. */
function withObjectParts(schema: Record<string, unknown>, type: unknown): Record<string, unknown> {
  const { $schema } = schema;
  const parts: Record<string, unknown> = {
    type,
    properties: propertiesOf(schema['properties']),
    required: requiredOf(schema['required']),
    $schema: typeof $schema === 'string' ? $schema : undefined,
  };
  const changed = Object.entries(parts).filter(([name, after]) => after !== schema[name]);
  return changed.length === 0 ? schema : withChanges(schema, new Map(changed));
}

/** A schema that is not an object is refused by clients, so `true` becomes the empty schema, which means the same. */
function propertiesOf(properties: unknown): unknown {
  if (!isObject(properties)) return undefined;
  let areObjects = true;
  for (const name in properties) if (!isObjectLike(properties[name])) areObjects = false;
  if (areObjects) return properties;
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      isObjectLike(schema) ? schema : schema === false ? { not: {} } : {},
    ]),
  );
}

function isObjectLike(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null;
}

function requiredOf(required: unknown): unknown {
  if (typeof required === 'string' && required !== '') return [required];
  if (!Array.isArray(required)) return undefined;
  const names = required.filter((name) => typeof name === 'string');
  return names.length === required.length ? required : names;
}
