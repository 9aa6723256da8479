import { expect, test } from 'vitest';
import { isMirrorable, mirroredIn } from './mirrored-parameters.ts';

const of = (properties: object): object => ({ type: 'object', properties });
const region = { type: 'string', 'x-mcp-header': 'Region' };

test('strings, integers, and booleans are mirrored, at any depth of properties', () => {
  const schema = of({
    region,
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    inner: of({ dry: { type: 'boolean', 'x-mcp-header': 'Dry' } }),
  });

  expect(mirroredIn(schema)).toEqual([
    { header: 'mcp-param-region', path: ['region'] },
    { header: 'mcp-param-limit', path: ['limit'] },
    { header: 'mcp-param-dry', path: ['inner', 'dry'] },
  ]);
  expect(isMirrorable(schema)).toBe(true);
});

test.each([
  ['a number', { amount: { type: 'number', 'x-mcp-header': 'Amount' } }],
  ['an object', { amount: { type: 'object', 'x-mcp-header': 'Amount' } }],
  ['an element of an array', { regions: { type: 'array', items: region } }],
  ['a name that is no header', { region: { type: 'string', 'x-mcp-header': 'Re gion' } }],
  ['the same header twice', { region, other: { type: 'string', 'x-mcp-header': 'region' } }],
])('a tool that mirrors %s is none that clients can call', (_what, properties) => {
  expect(isMirrorable(of(properties))).toBe(false);
});

test('a property may be called like the annotation', () => {
  expect(isMirrorable(of({ 'x-mcp-header': { type: 'string' } }))).toBe(true);
});
