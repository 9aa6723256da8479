import { expect, test } from 'vitest';
import { requireUnambiguous } from './ambiguity.ts';

function isRefused(text: string, value?: unknown): boolean {
  try {
    requireUnambiguous(text, value);
    return false;
  } catch {
    return true;
  }
}

test.each([
  [
    'a usual call',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1}}}',
  ],
  ['colons and quotes in strings', String.raw`{"id":"a:\":b","params":{"arguments":{"c:d":":\\"}}}`],
  ['the same name in several objects', '{"params":{"arguments":{"a":{"a":1},"b":[{"a":1},{"a":2}]}}}'],
  ['names of another case deep inside', '{"params":{"arguments":{"a":1,"A":2}}}'],
  ['a name that is not defined', '{"params":{"other":1}}'],
  ['a member __proto__', '{"params":{"arguments":{"__proto__":{"a":1}}}}'],
  ['numbers as names', '{"params":{"arguments":{"1":1,"0":2,"01":3}}}'],
])('%s has one meaning', (_name, text) => {
  expect(isRefused(text, JSON.parse(text))).toBe(false);
  expect(isRefused(text)).toBe(false);
});

test.each([
  ['a name twice', '{"method":"ping","method":"tools/call"}'],
  ['a name twice, once escaped', String.raw`{"params":{"name":"a","n\u0061me":"b"}}`],
  ['a name twice deep inside', '{"params":{"arguments":{"a":[{"b":[{"c":1,"c":2}]}]}}}'],
  [
    'a name twice with other values between',
    '{"params":{"arguments":{"a":{"x":1},"b":{"y":2},"a":{"x":1}}}}',
  ],
  ['__proto__ twice', '{"params":{"arguments":{"__proto__":{"a":1},"__proto__":{"b":1}}}}'],
  ['a defined name in another case', '{"METHOD":"ping"}'],
  ['a defined parameter in another case', '{"params":{"Name":"a"}}'],
  ['a defined name with a character that folds to it', '{"paramſ":{}}'],
  ['names that differ in case', '{"params":{"other":1,"OTHER":2}}'],
])('%s has several', (_name, text) => {
  expect(isRefused(text, JSON.parse(text))).toBe(true);
  expect(isRefused(text)).toBe(true);
});

/** Returns numbers below `limit` that depend on the seed only. */
function chances(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const names = [
  'id',
  'params',
  'name',
  'arguments',
  'Name',
  'a',
  'A',
  String.raw`\u0061`,
  '__proto__',
  'a:b',
  '',
];

function randomValue(next: (limit: number) => number, depth: number): string {
  const kind = next(depth > 4 ? 3 : 6);
  if (kind === 0) return '":,{"';
  if (kind < 3) return String(next(100));
  const parts = Array.from({ length: next(4) }, () => randomValue(next, depth + 1));
  if (kind === 3) return `[${parts.join(', ')}]`;
  return `{${parts.map((part) => `"${names[next(names.length)]}" : ${part}`).join(',')}}`;
}

test('the value of a text never changes the decision', () => {
  const next = chances(1);
  const decisions = Array.from({ length: 20_000 }, () => {
    const text = randomValue(next, 0);
    return { text, known: isRefused(text, JSON.parse(text)), unknown: isRefused(text) };
  });
  expect(decisions.filter(({ known, unknown }) => known !== unknown)).toEqual([]);
  expect(decisions.filter(({ known }) => known).length).toBeGreaterThan(1000);
});

test('a name that is as long as a message is read in time', { timeout: 60_000 }, () => {
  const text = `{"params":{"${'\u0130'.repeat(4 * 1024 * 1024)}":1}}`;

  const refused = Array.from({ length: 20 }, () => isRefused(text, JSON.parse(text)));

  expect(new Set(refused)).toEqual(new Set([false]));
});
