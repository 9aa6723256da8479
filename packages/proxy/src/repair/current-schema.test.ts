import { expect, test } from 'vitest';
import { currentSchema } from './current-schema.ts';

const text = { type: 'string' };
const of = (a: object): { type: 'object'; properties: { a: object } } => ({
  type: 'object',
  properties: { a },
});

const odd: [what: string, schema: object, after: object][] = [
  ['an array of anything', of({ type: 'array' }), of({ type: 'array', items: {} })],
  ['null as the items', of({ type: 'array', items: null }), of({ type: 'array', items: {} })],
  [
    'an array among other types',
    of({ anyOf: [{ type: ['array', 'null'] }, text] }),
    of({ anyOf: [{ type: ['array', 'null'], items: {} }, text] }),
  ],
  [
    'a list of schemas as the items',
    of({ type: 'array', items: [text, { type: 'array' }], additionalItems: false }),
    of({ type: 'array', prefixItems: [text, { type: 'array', items: {} }], items: {} }),
  ],
  ['an empty list as the items', of({ type: 'array', items: [] }), of({ type: 'array', items: {} })],
  [
    'limits of draft 4',
    of({ type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false }),
    of({ type: 'integer', exclusiveMinimum: 0, maximum: 9 }),
  ],
  ['a limit of nothing', of({ exclusiveMaximum: true }), of({})],
  ['limits as text', of({ minimum: '1', maxLength: 'many' }), of({ minimum: 1 })],
  [
    'flags in inner properties',
    of({ type: 'object', properties: { b: { ...text, required: true }, c: { required: false } } }),
    of({ type: 'object', properties: { b: text, c: {} }, required: ['b'] }),
  ],
  ['a type in capitals', of({ type: 'STRING' }), of(text)],
  ['a type of a programming language', of({ type: 'any', description: 'x' }), of({ description: 'x' })],
  ['null for keywords', of({ ...text, description: null, enum: null, format: null, anyOf: [] }), of(text)],
  ['an example alone', of({ ...text, examples: 'x' }), of({ ...text, examples: ['x'] })],
  [
    'no schema in the place of one',
    of({ type: 'object', properties: { b: null, c: 'string' }, additionalProperties: 'no' }),
    of({ type: 'object', properties: { b: {}, c: {} } }),
  ],
  [
    'such schemas in definitions',
    { type: 'object', $defs: { a: { type: 'array' } } },
    { type: 'object', $defs: { a: { type: 'array', items: {} } } },
  ],
];

test.each(odd)('an input schema with %s is written as models accept it', (_what, schema, after) => {
  expect(currentSchema({ ...schema })).toEqual(after);
});

test.each([
  [
    'of properties that are named after keywords',
    of({ type: 'object', properties: { type: text, items: text, required: text } }),
  ],
  ['with a default that looks like a schema', of({ default: { type: 'any', required: true } })],
  ['with all keywords', of({ ...text, minLength: 0, pattern: 'a', enum: ['a'], default: null })],
])('an input schema %s stays the same object', (_what, schema) => {
  expect(currentSchema(schema)).toBe(schema);
});

test('a schema in a thousand levels is read to a depth', () => {
  let schema: Record<string, unknown> = { type: 'array' };
  for (let level = 0; level < 1000; level++) schema = { type: 'object', properties: { a: schema } };

  expect(currentSchema(schema)).toBe(schema);
});
