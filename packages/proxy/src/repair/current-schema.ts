import { isObject } from '../jsonrpc/message.ts';
import { schemaTypes } from './compilable-schema.ts';
import { withChanges } from './shapes.ts';

type Schema = Record<string, unknown>;

/** Schemas in deeper levels, and beyond this number, stay as they are. */
const maxDepth = 64;
const maxSchemas = 20_000;

interface Walk {
  left: number;
}

/**
 * An input schema in the form of JSON Schema 2020-12 that models accept, which refuse all tools because of one schema: without
 * keywords in the form of earlier drafts or with values that they cannot have, and with `items` in every array. The new schema accepts
 * at least the same arguments. The server still checks the arguments. The same object if nothing differs.
 */
export function currentSchema(schema: Schema): Schema {
  return walked(schema, { left: maxSchemas }, 1);
}

function walked(schema: Schema, walk: Walk, depth: number): Schema {
  walk.left -= 1;
  if (walk.left < 0 || depth > maxDepth) return schema;
  const changes = new Map<string, unknown>();
  const inner: Walker = (one) => walked(one, walk, depth + 1);
  for (const name in schema) {
    const after = forms.get(name)?.(schema[name], inner);
    if (after !== schema[name] && forms.has(name)) changes.set(name, after);
  }
  const others = [
    ...boundIn(schema, 'minimum', 'exclusiveMinimum'),
    ...boundIn(schema, 'maximum', 'exclusiveMaximum'),
    ...itemsIn(schema, inner),
    ...requiredIn(schema),
  ];
  for (const [name, after] of others) if (after !== schema[name]) changes.set(name, after);
  return changes.size === 0 ? schema : withChanges(schema, changes);
}

type Walker = (schema: Schema) => Schema;
type Form = (value: unknown, walk: Walker) => unknown;

/** Another value than a schema accepts everything, except for `false`. */
const inSchema: Form = (value, walk) => (isObject(value) ? walk(value) : value === false ? { not: {} } : {});
const inSchemaOrFlag: Form = (value, walk) =>
  isObject(value) ? walk(value) : typeof value === 'boolean' ? value : undefined;

const inList: Form = (value, walk) => {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const all = value.map((one: unknown) => inSchemaOrFlag(one, walk) ?? {});
  return all.every((one, index) => one === value[index]) ? value : all;
};

const byName: Form = (value, walk) => {
  if (!isObject(value)) return undefined;
  let changes: Map<string, unknown> | undefined;
  for (const name in value) {
    const after = inSchema(value[name], walk);
    if (after !== value[name]) (changes ??= new Map<string, unknown>()).set(name, after);
  }
  return changes === undefined ? value : withChanges(value, changes);
};

/** Definitions can have other parts beside schemas, to which references lead. */
const definitions: Form = (value, walk) => {
  if (!isObject(value)) return undefined;
  const changes = Object.entries(value).flatMap(([name, inner]) => {
    const after = isObject(inner) ? walk(inner) : inner;
    return after === inner ? [] : [[name, after] as const];
  });
  return changes.length === 0 ? value : withChanges(value, new Map(changes));
};

const number: Form = (value) => {
  if (typeof value === 'number') return value;
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isFinite(read) ? read : undefined;
};
const positive: Form = (value, walk) => {
  const read = number(value, walk);
  return typeof read === 'number' && read > 0 ? read : undefined;
};
const count: Form = (value, walk) => {
  const read = number(value, walk);
  return typeof read === 'number' && Number.isInteger(read) && read >= 0 ? read : undefined;
};
const text: Form = (value) => (typeof value === 'string' ? value : undefined);
const flag: Form = (value) => (typeof value === 'boolean' ? value : undefined);

/** Generators write `String`, `any`, or the names of their language. */
const type: Form = (value) => {
  if (typeof value === 'string') return typeNamed(value);
  if (!Array.isArray(value)) return undefined;
  const names = [...new Set(value.map((one: unknown) => typeof one === 'string' && typeNamed(one)))];
  if (names.length === 0 || names.some((name) => typeof name !== 'string')) return undefined;
  return names.length === value.length && names.every((name, index) => name === value[index]) ? value : names;
};

function typeNamed(name: string): string | undefined {
  const lower = name.toLowerCase();
  return schemaTypes.has(lower) ? lower : undefined;
}

const enumeration: Form = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);
const required: Form = (value) => {
  if (!Array.isArray(value)) return undefined;
  const names = value.filter((name) => typeof name === 'string');
  return names.length === value.length ? value : names;
};

/** The forms of keywords. A keyword that becomes undefined is left out. */
const forms: ReadonlyMap<string, Form> = new Map<string, Form>([
  ['type', type],
  ['enum', enumeration],
  ['required', required],
  ['examples', (value) => (Array.isArray(value) ? value : [value])],
  ...each(text, 'title description $comment $ref format pattern contentEncoding contentMediaType'),
  ...each(flag, 'deprecated readOnly writeOnly uniqueItems'),
  ...each(number, 'minimum maximum'),
  ...each(positive, 'multipleOf'),
  ...each(count, 'minLength maxLength minItems maxItems minContains maxContains'),
  ...each(count, 'minProperties maxProperties'),
  ...each(inList, 'anyOf oneOf allOf prefixItems'),
  ...each(inSchemaOrFlag, 'not if then else contains propertyNames additionalProperties'),
  ...each(inSchemaOrFlag, 'unevaluatedItems unevaluatedProperties'),
  ...each(byName, 'properties patternProperties dependentSchemas'),
  ...each(definitions, '$defs definitions'),
]);

function each(form: Form, names: string): [string, Form][] {
  return names.split(' ').map((name) => [name, form]);
}

type Changes = [name: string, after: unknown][];

/** `"minimum": 0, "exclusiveMinimum": true` of draft 4 is one limit. */
function boundIn(schema: Schema, bound: string, exclusive: string): Changes {
  if (!Object.hasOwn(schema, exclusive)) return [];
  const limit = number(schema[bound], same);
  return schema[exclusive] === true && limit !== undefined
    ? [
        [exclusive, limit],
        [bound, undefined],
      ]
    : [[exclusive, number(schema[exclusive], same)]];
}

/** Models require the contents of arrays. Earlier drafts have a list of schemas as `items`. */
function itemsIn(schema: Schema, walk: Walker): Changes {
  const { items, additionalItems } = schema;
  if (Array.isArray(items)) {
    return [
      ['prefixItems', inList(items, walk)],
      ['items', isObject(additionalItems) ? walk(additionalItems) : {}],
      ['additionalItems', undefined],
    ];
  }
  if (items !== undefined) return [['items', inSchemaOrFlag(items, walk) ?? {}]];
  return namesArray(schema['type']) ? [['items', {}]] : [];
}

function namesArray(value: unknown): boolean {
  const names: unknown[] = Array.isArray(value) ? value : [value];
  return names.some((name) => typeof name === 'string' && name.toLowerCase() === 'array');
}

/** `"required": true` in the schema of a property, of draft 3, belongs to the list of the surrounding object. */
function requiredIn({ properties, required: listed }: Schema): Changes {
  if (!isObject(properties)) return [];
  const names = Object.keys(properties).filter((name) => {
    const inner = properties[name];
    return isObject(inner) && inner['required'] === true;
  });
  if (names.length === 0) return [];
  const known: unknown[] = Array.isArray(listed) ? listed : [];
  return [['required', [...new Set([...known.filter((name) => typeof name === 'string'), ...names])]]];
}

const same: Walker = (schema) => schema;
