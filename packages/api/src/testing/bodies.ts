import { valuesOf } from '@toolhive/contract/testing/schema-values';
import type { JsonSchema, SchemaContext } from '@toolhive/contract/testing/schema-values';
import * as fc from 'fast-check';
import { mostly, words } from './words.ts';

/** Bodies for a schema: right ones, nearly right ones and absurd ones. */
export function bodiesOf(schema: JsonSchema | undefined, context: SchemaContext): fc.Arbitrary<Buffer> {
  const anything = fc.jsonValue({ maxDepth: 4, noUnicodeString: false });
  if (schema === undefined) return mostly(6, fc.constant(Buffer.alloc(0)), bytesOf(anything));
  const valid = valuesOf(schema, context);
  return fc.oneof(
    { weight: 12, arbitrary: bytesOf(valid) },
    { weight: 8, arbitrary: bytesOf(mutated(valid)) },
    { weight: 2, arbitrary: bytesOf(anything) },
    { weight: 2, arbitrary: damaged(bytesOf(valid)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: large(bytesOf(valid)) },
  );
}

/** Stands in a value for a text that no value could be written as. */
const rawMark = '@raw:';

const rawTexts = [
  ...words`-0 1e999 -1e999 1e-999 9007199254740993 0.1 01 NaN Infinity undefined 'a' , }`,
  ...words`"\ud800" "\udc00\ud800" "\u0000" "a\u0000b" "\u202e" "\u001b[2J" "a\nhint:\u0020b" "\ufeff"`,
  ...words`{"__proto__":{"polluted":true}} {"constructor":{"prototype":{"polluted":true}}} {"a":1,"a":2} {"":0}`,
  ...[31, 32, 33, 40_000].map((levels) => `${'['.repeat(levels)}${']'.repeat(levels)}`),
  `[${'0,'.repeat(9999)}0]`,
  `[${'"x",'.repeat(9999)}"x"]`,
  `"${'x'.repeat(70_000)}"`,
  `{${Array.from({ length: 2000 }, (_, n) => `"k${n}":0`).join(',')}}`,
];

function bytesOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<Buffer> {
  const raw = new RegExp(`"${rawMark}(\\d+)"`, 'g');
  return values.map((value) =>
    Buffer.from(JSON.stringify(value).replace(raw, (_match, index) => rawTexts[Number(index)] ?? '')),
  );
}

/** A value in which one thing is not what it was. */
function mutated(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const odd = fc.oneof(
    fc.nat({ max: rawTexts.length - 1 }).map((index) => `${rawMark}${index}`),
    fc.constantFrom<unknown>(null, true, false, '', ' ', 'x', [], {}, [null], [[]]),
    fc.constantFrom(0, -1, 1.5, 65_536, 2 ** 31, 2 ** 53),
    fc.string({ unit: 'binary' }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const keys = fc.constantFrom(...words`__proto__ constructor prototype schema_version x toJSON length`, '');
  return fc.tuple(values, fc.nat(), odd, keys).map(([value, where, replacement, key]) => {
    const places = placesIn(value);
    const place = places[where % places.length];
    if (place === undefined) return replacement;
    const copy: unknown = structuredClone(value);
    const parent = place
      .slice(0, -1)
      .reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], copy);
    const last = where % 3 === 0 && !Array.isArray(parent) ? key : (place.at(-1) ?? '');
    const own = { value: replacement, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(parent, last, own); // also where the key is `__proto__`
    return copy;
  });
}

/** The way to everything inside a value. */
function placesIn(value: unknown, way: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [[...way, key], ...placesIn(part, [...way, key])]);
}

function damaged(bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const damages = fc.constantFrom<(body: Buffer) => Buffer>(
    (body) => body.subarray(0, body.length >> 1),
    (body) => Buffer.concat([body, body]),
    (body) => Buffer.concat([body, Buffer.from([0xe2, 0x82])]),
    (body) => Buffer.concat([Buffer.from([0xff]), body]),
    (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
    (body) => Buffer.from(body.toString('utf8'), 'utf16le'),
    (body) => Buffer.from(body.toString('utf8').replaceAll('"', "'")),
    (body) => Buffer.from(`\t\n\r ${body.toString('utf8')} `),
  );
  return fc.tuple(bodies, damages).map(([body, damage]) => damage(body));
}

/** At and beyond what is accepted, filled up with blanks or with one long text. */
function large(bodies: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const sizes = fc.constantFrom(1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1, 1_500_000);
  return fc.tuple(bodies, sizes, fc.boolean()).map(([body, size, isBlank]) => {
    const missing = Math.max(0, size - body.length);
    if (isBlank) return Buffer.concat([body, Buffer.alloc(missing, ' ')]);
    const before = body.subarray(0, -1);
    return Buffer.concat([before, Buffer.from(`,"x":"${'x'.repeat(Math.max(0, missing - 7))}"}`)]);
  });
}
