import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../jsonrpc/message.ts';
import { withChanges } from './shapes.ts';

type Schema = Record<string, unknown>;

/** The parts of a schema for objects that every client and every model reads. */
interface Parts {
  properties: ReadonlyMap<string, unknown>;
  required: ReadonlySet<string>;
}

/** The keywords that combine schemas, which models refuse outside of a property, with the whole list of tools. */
const combining = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else'];
const choices = ['anyOf', 'oneOf'] as const;
const maxBranches = 50;
const maxProperties = 1000;
const maxAlternatives = 8;
/** How many schemas and properties are combined for one tool. References could otherwise multiply them without end. */
const maxCombined = 1000;
const maxDepth = 20;

interface Reading {
  root: Schema;
  left: number;
  /** Whether a part was not read. */
  isCut: boolean;
  /** The parts of each schema that was read, with none for a schema that contains itself. */
  read: Map<unknown, Parts>;
}

const noParts: Parts = { properties: new Map(), required: new Set() };

const beginReading = (root: Schema): Reading => ({
  root,
  left: maxCombined,
  isCut: false,
  read: new Map([[root, noParts]]),
});

/**
 * An input schema without combinations of schemas at its top, which accepts at least the same arguments. The server still checks
 * the arguments. The schemas of properties stay the same.
 */
export function plainSchema(schema: Schema): Schema {
  if (!combining.some((name) => Object.hasOwn(schema, name))) return schema;
  const reading = beginReading(schema);
  const { properties, required } = combined(schema, reading);
  const isWider =
    schema['additionalProperties'] === false &&
    (reading.isCut || properties.size > ownParts(schema).properties.size);
  const description = [schema['description'], ...choices.map((name) => choiceIn(schema, name))];
  const words = description.filter((text) => typeof text === 'string' && text !== '').join(' ');
  return withChanges(
    schema,
    new Map<string, unknown>([
      ...combining.map((name) => [name, undefined] as const),
      ['type', 'object'],
      ['description', words === '' ? undefined : words],
      ['properties', Object.fromEntries(properties)],
      ['required', required.size === 0 ? undefined : [...required]],
      // Properties of the combined schemas would otherwise be forbidden.
      ['additionalProperties', isWider ? undefined : schema['additionalProperties']],
    ]),
  );
}

function partsOf(schema: unknown, reading: Reading, depth = 1): Parts {
  if (!isObject(schema)) return noParts;
  const known = reading.read.get(schema);
  if (known === undefined) {
    reading.read.set(schema, noParts);
    if (depth > maxDepth) reading.isCut = true;
    else reading.read.set(schema, combined(schema, reading, depth + 1));
  }
  const parts = reading.read.get(schema) ?? noParts;
  reading.left -= 1 + parts.properties.size;
  if (reading.left >= 0) return parts;
  reading.isCut = true;
  return noParts;
}

function combined(schema: Schema, reading: Reading, depth = 1): Parts {
  let { properties, required } = ownParts(schema);
  for (const branch of [...definitionOf(schema, reading.root), ...branchesIn(schema, 'allOf')]) {
    const parts = partsOf(branch, reading, depth);
    properties = merged(parts.properties, properties);
    required = required.union(parts.required);
  }
  for (const name of choices) {
    const branches = branchesIn(schema, name).map((branch) => partsOf(branch, reading, depth));
    const [first, ...others] = branches;
    if (first === undefined) continue;
    const together = others.reduce<Parts['properties']>(
      (all, parts) => either(all, parts.properties),
      first.properties,
    );
    properties = merged(together, properties);
    required = required.union(
      others.reduce((all, parts) => all.intersection(parts.required), first.required),
    );
  }
  for (const name of ['then', 'else'])
    if (schema[name] !== undefined)
      properties = merged(partsOf(schema[name], reading, depth).properties, properties);
  return { properties, required };
}

function ownParts({ properties, required }: Schema): Parts {
  const names: unknown[] = Array.isArray(required) ? required : [];
  return {
    properties: new Map(isObject(properties) ? Object.entries(properties) : []),
    required: new Set(names.filter((name) => typeof name === 'string')),
  };
}

/** The combined schemas. Those beyond the limit are one that accepts everything. */
function branchesIn(schema: Schema, name: string): readonly unknown[] {
  const branches: unknown = schema[name];
  if (!Array.isArray(branches) || branches.length <= maxBranches)
    return Array.isArray(branches) ? (branches as unknown[]) : [];
  return name === 'allOf' ? branches.slice(0, maxBranches) : [...branches.slice(0, maxBranches), {}];
}

/** The definition in the same document that a schema names, in a list. */
function definitionOf({ $ref: reference }: Schema, root: Schema): readonly unknown[] {
  if (typeof reference !== 'string') return [];
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]{1,200})$/.exec(reference) ?? [];
  const definitions = root[group];
  return isObject(definitions) && Object.hasOwn(definitions, name) ? [definitions[name]] : [];
}

/** All properties. The second map wins, because the schema around the others describes them for all. */
function merged(one: Parts['properties'], other: Parts['properties']): Parts['properties'] {
  const all = new Map([...one, ...other]);
  return all.size > maxProperties ? other : all;
}

/** The properties of two alternatives. One that differs may have either schema. */
function either(one: Parts['properties'], other: Parts['properties']): Parts['properties'] {
  const both = [...other].map(([name, schema]) => [name, alternatives(one.get(name), schema)] as const);
  return merged(one, new Map(both));
}

function alternatives(known: unknown, schema: unknown): unknown {
  const isGathered = isObject(known) && gathered.has(known);
  const all: readonly unknown[] = isGathered && Array.isArray(known['anyOf']) ? known['anyOf'] : [known];
  if (known === undefined || all.includes(schema) || all.some((one) => isDeepStrictEqual(one, schema)))
    return known ?? schema;
  const either = all.length < maxAlternatives ? { anyOf: [...all, schema] } : {};
  gathered.add(either);
  return either;
}

/** The schemas that were made of alternatives. */
const gathered = new WeakSet<object>();

/** Tells a model which arguments belong together, which the schema says no longer. */
function choiceIn(schema: Schema, name: 'anyOf' | 'oneOf'): string | undefined {
  const reading = beginReading(schema);
  const groups = branchesIn(schema, name).map((branch) => [...partsOf(branch, reading).required]);
  const shown = [...new Set(groups.map((names) => names.join(', ')))];
  if (shown.length < 2 || shown.includes('') || shown.length > 10) return undefined;
  const number = name === 'oneOf' ? 'exactly one' : 'at least one';
  return `Requires ${number} of these groups of arguments: ${shown.join('; ')}.`;
}
