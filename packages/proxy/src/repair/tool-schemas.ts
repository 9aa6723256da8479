import { isObject, readValue } from '../jsonrpc/message.ts';
import { isCompilable } from './compilable-schema.ts';
import type { PatternBudget } from './compilable-schema.ts';
import { plainSchema } from './plain-schema.ts';
import { Unreadable, kindOf, withChanges } from './shapes.ts';
import type { Repair } from './shapes.ts';

/**
 * The input schema of a tool. Arguments are always an object, so a schema that does not name a type has the type
 * `object`, also if it is a combination of others. A schema of another type accepts no call.
 */
export const inputSchema: Repair = (written, tool) => {
  const value = schemaIn(written, tool);
  if (isEmpty(value)) return { type: 'object' };
  if (!isObject(value)) return new Unreadable(`is ${kindOf(value)} instead of an object`);
  const type = objectTypeOf(value['type']);
  if (type === undefined)
    return new Unreadable(`has ${typeNameOf(value['type'])} instead of the type "object"`);
  return withObjectParts(value, type);
};

/** The schema, which may be a JSON text, or have the name that the interfaces of models give it. */
function schemaIn(written: unknown, { input_schema, parameters }: Record<string, unknown>): unknown {
  if (isEmpty(written)) {
    const other = [input_schema, parameters].find((one) => isObject(one) && isObject(one['properties']));
    return other ?? written;
  }
  if (typeof written !== 'string' || !/^\s*\{/.test(written)) return written;
  try {
    return readValue(written);
  } catch {
    return written;
  }
}

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

/**
 * The same for input schemas. Versions before 2026-07-28 know only the properties of an object, and models refuse all tools
 * because of one whose schema combines others at its top.
 */
export const legacyInputSchema: Repair = (value) => (isObject(value) ? plainSchema(value) : value);

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
  const { properties, required } = propertiesAndRequired(schema);
  const parts: Record<string, unknown> = {
    type,
    properties,
    required,
    $schema: typeof $schema === 'string' ? $schema : undefined,
  };
  const changed = Object.entries(parts).filter(([name, after]) => after !== schema[name]);
  return changed.length === 0 ? schema : withChanges(schema, new Map(changed));
}

interface Parts {
  properties: unknown;
  required: unknown;
}

/** Clients and models refuse properties whose schemas are not objects, so these are written in another way or left out. */
function propertiesAndRequired(schema: Record<string, unknown>): Parts {
  const { properties } = schema;
  const required = requiredOf(schema['required']);
  if (!isObject(properties)) return { properties: undefined, required };
  let areFine = true;
  for (const name in properties) if (!isFine(properties[name])) areFine = false;
  return areFine ? { properties, required } : corrected(properties, required);
}

function corrected(properties: Record<string, unknown>, required: unknown): Parts {
  const isOutside = isMisplaced(properties);
  const names: string[] = isOutside ? (properties['required'] as string[]) : [];
  const schemas = Object.entries(properties).filter(([name]) => !isOutside || name !== 'required');
  const kept = schemas.map(([name, schema]) => {
    if (isObject(schema) && typeof schema['required'] === 'boolean') {
      if (schema['required']) names.push(name); // as in draft 3 of JSON Schema
      return [name, withChanges(schema, new Map([['required', undefined]]))] as const;
    }
    return [name, isObject(schema) ? schema : schema === false ? { not: {} } : {}] as const;
  });
  const all: unknown[] = Array.isArray(required) ? required : [];
  const added = [...new Set(names).difference(new Set(all))];
  return {
    properties: Object.fromEntries(kept),
    required: added.length === 0 ? required : [...all, ...added],
  };
}

/** Whether the list of required properties stands among the properties instead of beside them. */
function isMisplaced(properties: Record<string, unknown>): boolean {
  const { required } = properties;
  return (
    Array.isArray(required) &&
    required.every((name) => typeof name === 'string' && Object.hasOwn(properties, name))
  );
}

function isFine(schema: unknown): boolean {
  return isObject(schema) && typeof schema['required'] !== 'boolean';
}

function requiredOf(required: unknown): unknown {
  if (typeof required === 'string' && required !== '') return [required];
  if (!Array.isArray(required)) return undefined;
  const names = required.filter((name) => typeof name === 'string');
  return names.length === required.length ? required : names;
}
