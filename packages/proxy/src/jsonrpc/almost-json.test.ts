import { expect, test } from 'vitest';
import { almostJson } from './almost-json.ts';

test.each([
  ['{"a":NaN}', '{"a":null}'],
  ['[NaN,-Infinity, Infinity ,1]', '[null,null, null ,1]'],
  ['{"NaN":"NaN \\" NaN","b":NaN}', '{"NaN":"NaN \\" NaN","b":null}'],
  ['{"a":"x\ty"}', '{"a":"x\\u0009y"}'],
  ['{\t"a":"x"\n}', '{\t"a":"x"\n}'],
  ['{"a":"open\t', '{"a":"open\\u0009'],
  ['{"a":NaNs,"b":xNaN}', '{"a":NaNs,"b":xNaN}'],
  ['{"a":1}', '{"a":1}'],
])('%j becomes %j', (text, json) => {
  expect(almostJson(text)).toBe(json);
});

/** With steps that grow with the square of the length, these texts would take minutes. */
test.each(['NaN', '-', '"', '"\t', '\\', '\t', '-Infinity', '"NaN'])(
  'a long text of %j is read',
  { timeout: 60_000 },
  (part) => {
    expect(almostJson(part.repeat(500_000 / part.length))).not.toBe('');
  },
);
