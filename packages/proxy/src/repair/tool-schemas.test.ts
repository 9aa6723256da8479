import { expect, test } from 'vitest';
import { inputSchema } from './tool-schemas.ts';

const text = { type: 'string' };

test.each<[string, object, object]>([
  [
    'the list of required properties among the properties',
    { type: 'object', properties: { a: text, required: ['a'] } },
    { type: 'object', properties: { a: text }, required: ['a'] },
  ],
  [
    'an empty one',
    { type: 'object', properties: { a: text, required: [] } },
    { type: 'object', properties: { a: text } },
  ],
  [
    'one beside another list',
    { type: 'object', properties: { a: text, b: text, required: ['a', 'b'] }, required: ['b'] },
    { type: 'object', properties: { a: text, b: text }, required: ['b', 'a'] },
  ],
  [
    'a list that names something else, which is no schema',
    { type: 'object', properties: { a: text, required: ['x'] } },
    { type: 'object', properties: { a: text, required: {} } },
  ],
  [
    'a list in the place of a schema',
    { type: 'object', properties: { a: ['string'] } },
    { type: 'object', properties: { a: {} } },
  ],
  [
    'flags in the properties',
    { type: 'object', properties: { a: { ...text, required: true }, b: { ...text, required: false } } },
    { type: 'object', properties: { a: text, b: text }, required: ['a'] },
  ],
])('an input schema with %s is written as models accept it', (_what, schema, corrected) => {
  expect(inputSchema(schema, {})).toEqual(corrected);
});

test.each([
  { type: 'object', properties: { required: text }, required: ['required'] },
  { type: 'object', properties: { a: { type: 'object', required: ['b'] } } },
])('a healthy input schema stays the same object', (schema) => {
  expect(inputSchema(schema, {})).toBe(schema);
});

test('flags in very many properties are read in time', { timeout: 60_000 }, () => {
  const named = Array.from({ length: 50_000 }, (_, at) => [`a${at}`, { required: true }] as const);
  const required = Array.from({ length: 1_000_000 }, (_, at) => `b${at}`);

  const after = inputSchema({ type: 'object', properties: Object.fromEntries(named), required }, {});

  expect(after).toHaveProperty('required.length', 1_050_000);
});
