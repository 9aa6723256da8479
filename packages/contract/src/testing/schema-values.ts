import * as fc from 'fast-check';

/** The part of JSON Schema that our own documents use. */
export interface JsonSchema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  not?: object;
}

export interface SchemaContext {
  schemas: Readonly<Record<string, JsonSchema>>;
  /** What stands at a property of this name, wherever it is, instead of what the schema says. */
  words: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** The optional properties without which an object makes little sense. */
  usual: readonly string[];
}

/** Values that a schema describes. What it cannot say, they may get wrong. */
export function valuesOf(schema: JsonSchema, context: SchemaContext): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valuesOf(resolve(schema.$ref, context), context);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return fc.oneof(...alternatives.map((part) => valuesOf(part, context)));
  return (byType[schema.type ?? ''] ?? fc.jsonValue)(schema, context);
}

const byType: Record<string, (schema: JsonSchema, context: SchemaContext) => fc.Arbitrary<unknown>> = {
  string: strings,
  integer: ({ minimum = -10, maximum = 100_000 }) => fc.integer({ min: minimum, max: maximum }),
  number: ({ minimum = -10, maximum = 100_000 }) =>
    fc.double({ min: minimum, max: maximum, noNaN: true, noDefaultInfinity: true }),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: ({ items = {}, minItems = 0, maxItems = 3 }, context) =>
    fc.array(valuesOf(items, context), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) }),
  object: objects,
};

function strings({ pattern, minLength = 0, maxLength }: JsonSchema): fc.Arbitrary<string> {
  const longest = maxLength ?? 40;
  if (pattern === undefined)
    return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(longest, minLength + 40) });
  // A pattern can demand one length, such as that of a hash.
  const exact = /\{(\d+)\}\$$/.exec(pattern)?.[1];
  const limit = exact === undefined ? Math.min(longest, 40) : Number(exact);
  return fc
    .stringMatching(new RegExp(pattern, 'u'), { maxLength: limit })
    .filter(({ length }) => length >= minLength && length <= limit);
}

/** Most objects are refused for a single wrong property, so few of those that can be absent are there. */
const maxOptional = 4;

function objects(schema: JsonSchema, context: SchemaContext): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const possible = Object.keys(properties).filter((name) => properties[name]?.not === undefined);
  const optional = possible.filter((name) => !required.includes(name));
  const named = fc
    .tuple(
      fc.subarray(optional, { maxLength: Math.min(optional.length, maxOptional) }),
      fc.subarray(optional.filter((name) => context.usual.includes(name))),
      fc.boolean(),
    )
    .chain(([some, fewUsual, isBare]) => {
      const usual = isBare ? optional.filter((name) => context.usual.includes(name)) : fewUsual;
      const names = new Set([...required, ...usual, ...(isBare ? [] : some)]);
      return fc.record(
        Object.fromEntries(
          [...names].map((name) => [name, propertyOf(name, properties[name] ?? {}, context)]),
        ),
      );
    });
  if (typeof additionalProperties !== 'object') return named;
  const names = propertyNames === undefined ? fc.string() : valuesOf(propertyNames, context);
  const others = fc.dictionary(names.map(String), valuesOf(additionalProperties, context), { maxKeys: 3 });
  return fc.tuple(others, named).map(([more, own]) => ({ ...more, ...own }));
}

function propertyOf(name: string, part: JsonSchema, context: SchemaContext): fc.Arbitrary<unknown> {
  const words = context.words[name];
  if (words === undefined) return valuesOf(part, context);
  const alternatives = [part, ...(part.anyOf ?? [])];
  if (alternatives.some(({ $ref, enum: values }) => $ref !== undefined || values !== undefined)) {
    return valuesOf(part, context);
  }
  const isList = alternatives.some(({ type }) => type === 'array');
  return isList ? fc.array(words, { maxLength: 3 }) : words;
}

function resolve(reference: string, { schemas }: SchemaContext): JsonSchema {
  const found = schemas[reference.slice('#/components/schemas/'.length)];
  if (found === undefined) throw new Error(`${reference} is not in the document`);
  return found;
}
