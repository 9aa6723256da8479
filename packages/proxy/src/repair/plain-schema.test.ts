import { describe, expect, test } from 'vitest';
import { plainSchema } from './plain-schema.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const named = (name: string, schema: object = text) => ({
  type: 'object',
  properties: { [name]: schema },
  required: [name],
});

describe('an input schema', () => {
  test.each<[string, object, object]>([
    [
      'of alternatives has the properties of all, and says which belong together',
      { type: 'object', anyOf: [named('content'), named('source_url'), named('source_file_id')] },
      {
        type: 'object',
        properties: { content: text, source_url: text, source_file_id: text },
        description:
          'Requires at least one of these groups of arguments: content; source_url; source_file_id.',
      },
    ],
    [
      'whose alternatives require different properties keeps its own',
      {
        type: 'object',
        description: 'Checks.',
        properties: { project: text, paths: text, scopes: text },
        required: ['project'],
        oneOf: [{ required: ['paths'] }, { required: ['scopes'] }],
        additionalProperties: false,
      },
      {
        type: 'object',
        description: 'Checks. Requires exactly one of these groups of arguments: paths; scopes.',
        properties: { project: text, paths: text, scopes: text },
        required: ['project'],
        additionalProperties: false,
      },
    ],
    [
      'of parts has the properties of all',
      { allOf: [named('a'), { ...named('b'), additionalProperties: false }], properties: { c: number } },
      { type: 'object', properties: { a: text, b: text, c: number }, required: ['a', 'b'] },
    ],
    [
      'allows a property that differs in either form',
      {
        type: 'object',
        oneOf: [
          { properties: { kind: { const: 'a' }, x: text }, required: ['kind', 'x'] },
          { properties: { kind: { const: 'b' }, x: number }, required: ['kind', 'x'] },
          { properties: { kind: { const: 'c' }, x: text }, required: ['kind', 'x'] },
        ],
      },
      {
        type: 'object',
        properties: {
          kind: { anyOf: [{ const: 'a' }, { const: 'b' }, { const: 'c' }] },
          x: { anyOf: [text, number] },
        },
        required: ['kind', 'x'],
      },
    ],
    [
      'finds its parts by their names',
      { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }], $defs: { a: named('x'), b: named('x') } },
      {
        type: 'object',
        properties: { x: text },
        required: ['x'],
        $defs: { a: named('x'), b: named('x') },
      },
    ],
    [
      'with conditions has the properties of both cases',
      {
        type: 'object',
        properties: { a: text },
        if: { required: ['a'] },
        ...JSON.parse('{"then":{"properties":{"b":{"type":"string"}},"required":["b"]}}'),
        else: { properties: { c: text } },
      },
      { type: 'object', properties: { a: text, b: text, c: text } },
    ],
    [
      'without what it forbids accepts more',
      { type: 'object', properties: { a: text }, not: { required: ['b'] }, enum: [{ a: 'x' }] },
      { type: 'object', properties: { a: text } },
    ],
    ['of nothing is empty', { type: 'object', oneOf: [] }, { type: 'object', properties: {} }],
  ])('%s', (_what, schema, plain) => {
    expect(plainSchema(schema as Record<string, unknown>)).toEqual(plain);
  });

  test('requires nothing that one of many alternatives does not require', () => {
    const many = [...Array.from({ length: 60 }, () => named('a')), named('b')];

    expect(plainSchema({ type: 'object', anyOf: many })).not.toHaveProperty('required');
  });

  test('that combines nothing at its top stays the same object', () => {
    const schema = { type: 'object', properties: { a: { anyOf: [text, number] } } };

    expect(plainSchema(schema)).toBe(schema);
  });

  test('that refers to itself without end is read once', () => {
    const all = {
      properties: { a: text },
      anyOf: Array.from({ length: 50 }, () => ({ $ref: '#/$defs/all' })),
    };

    expect(plainSchema({ type: 'object', anyOf: [{ $ref: '#/$defs/all' }], $defs: { all } })).toMatchObject({
      properties: { a: text },
    });
  });

  test('whose definitions multiply is read in parts, and then forbids no other properties', () => {
    const names = Array.from({ length: 50 }, (_, index) => `d${index}`);
    const definitions = names.map((name, index) => {
      const properties = Object.fromEntries(names.map((other) => [`${name}-${other}`, text]));
      const others = names.map((_, next) => ({ $ref: `#/$defs/${names[(index + next + 1) % 50]}` }));
      return [name, { properties, anyOf: others }];
    });

    const plain = plainSchema({
      type: 'object',
      properties: { own: text },
      additionalProperties: false,
      anyOf: names.map((name) => ({ $ref: `#/$defs/${name}` })),
      $defs: Object.fromEntries(definitions),
    });

    expect(plain).toMatchObject({ properties: { own: text } });
    expect(plain).not.toHaveProperty('additionalProperties');
    expect(plain).not.toHaveProperty('required');
  });

  test('in a thousand levels is read to a depth', () => {
    let schema: Record<string, unknown> = { properties: { deep: text }, required: ['deep'] };
    for (let level = 0; level < 1000; level += 1) schema = { allOf: [schema] };

    expect(plainSchema({ properties: { own: text }, ...schema })).toEqual({
      type: 'object',
      properties: { own: text },
    });
  });
});
