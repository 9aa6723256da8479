import { describe, expect, test } from 'vitest';
import { allFieldsOf, fieldsOf, rulesOf, typeOf } from './schema.ts';
import type { Schema } from './schema.ts';

describe('the type of a value', () => {
  test.each<[Schema, unknown[]]>([
    [{ type: 'string' }, ['string']],
    [{ type: ['string', 'null'] }, ['string or null']],
    [{ type: 'array', items: { type: 'integer' } }, ['list of ', 'integer']],
    [{ type: 'object', additionalProperties: { type: 'string' } }, ['map of ', 'string']],
    [
      { anyOf: [{ $ref: '#/components/schemas/Group' }, { type: 'null' }] },
      [{ schema: 'Group' }, ' or ', 'null'],
    ],
    [{ const: 'v1' }, ['"v1"']],
    [{ not: {} }, ['nothing']],
    [{}, ['anything']],
  ])('%j is %j', (schema, expected) => {
    expect(typeOf(schema)).toEqual(expected);
  });
});

describe('the rules of a value', () => {
  test.each<[Schema, string[]]>([
    [{ type: 'integer', format: 'int32', minimum: 1, maximum: 65535 }, ['from 1 to 65535']],
    [{ type: 'string', minLength: 1 }, ['at least 1 character']],
    [{ type: 'array', maxItems: 3, uniqueItems: true }, ['at most 3 items', 'no duplicates']],
    [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['each one of `a`, `b`']],
    [{ type: 'string', format: 'date-time', pattern: '^very long$' }, ['a time in the format of RFC 3339']],
    [{ anyOf: [{ type: 'string', pattern: '^a$' }, { type: 'null' }] }, ['matches `^a$`']],
  ])('%j: %j', (schema, expected) => {
    expect(rulesOf(schema)).toEqual(expected);
  });
});

test('fields below lists, maps, and what may be null are found by their paths', () => {
  const person: Schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  const schema: Schema = {
    type: 'object',
    properties: {
      list: { type: 'array', items: person },
      map: { type: 'object', additionalProperties: person },
      maybe: { anyOf: [person, { type: 'null' }] },
      other: { $ref: '#/$defs/Other' },
    },
  };

  const found = allFieldsOf(schema);

  expect(found.map(({ name, isRequired }) => `${name}${isRequired ? '!' : ''}`)).toEqual([
    'list',
    'list[].name!',
    'map',
    'map.*.name!',
    'maybe',
    'maybe.name!',
    'other',
  ]);
  expect(fieldsOf({ type: 'string' }).fields).toEqual([]);
});
