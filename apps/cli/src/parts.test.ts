import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { loadParts, openedCache, packFile, packOf, scriptText, sealedCache } from './parts.ts';

const entry = (code: string): string => `${code};exports.main=async()=>{}`;

/** Loads a program whose files are given, and returns the exports of its first part and the compiled files. */
function load(files: Record<string, string>, packed: Record<string, string> = {}) {
  const all = { ...files, [packFile]: packOf(new Map(Object.entries(packed))) };
  const compiled: string[] = [];
  const program = loadParts({
    scriptOf(file) {
      compiled.push(file);
      return new Script(scriptText(file, all[file as keyof typeof all]), { filename: file });
    },
    hasPack: Object.keys(packed).length > 0,
    pathOf: (part) => `/program/${part}`,
    require: (id) => `outside ${id}`,
  });
  return { program: program as unknown as Record<string, unknown>, compiled };
}

test('a part is compiled when it is first required, and has one instance', () => {
  const { program, compiled } = load({
    'main.js': entry('exports.same=require("./chunks/a.js")===require("./chunks/b.js").a'),
    'chunks/a.js': 'exports.name="a"',
    'chunks/b.js': 'exports.a=require("./a.js")',
    'chunks/unused.js': 'throw new Error("used")',
  });

  expect(program['same']).toBe(true);
  expect(compiled).toEqual(['main.js', 'chunks/a.js', 'chunks/b.js']);
});

test('a part in the pack and a part outside have the same instance of another part', () => {
  const { program, compiled } = load(
    { 'chunks/outside.js': 'exports.a=require("./a.js")' },
    {
      'main.js': entry('exports.same=require("./chunks/a.js")===require("./chunks/outside.js").a'),
      'chunks/a.js': 'exports.name="a"',
    },
  );

  expect(program['same']).toBe(true);
  expect(compiled).toEqual([packFile, 'chunks/outside.js']);
});

test('a part that cannot be compiled fails each time, and is never taken for an empty one', () => {
  const { program } = load({
    'main.js': entry(
      'exports.seen=[1,2].map(()=>{try{return require("./chunks/broken.js")}catch({name}){return name}})',
    ),
    'chunks/broken.js': '(',
  });

  expect(program['seen']).toEqual(['SyntaxError', 'SyntaxError']);
});

test('parts can require each other, know their own path, and load modules from outside', () => {
  const { program } = load({
    'main.js': entry('exports.early=require("./chunks/a.js").early;exports.module=require("node:fs")'),
    'chunks/a.js': 'exports.name=__filename;exports.early=require("./b.js").seen',
    'chunks/b.js': 'exports.seen=[require("./a.js").name,__dirname]',
  });

  expect(program['early']).toEqual(['/program/chunks/a.js', '/program/chunks']);
  expect(program['module']).toBe('outside node:fs');
});

test('a part can end with a comment, and its name can have every character', () => {
  const { program } = load(
    {},
    {
      'main.js': entry('exports.value=require("./chunks/\\"a.js").value'),
      'chunks/"a.js': 'exports.value=1 // the end',
    },
  );

  expect(program['value']).toBe(1);
});

describe('a stored code cache', () => {
  const cache = Buffer.from(Array.from({ length: 20_000 }, (_, index) => (index * 7) % 251));

  test.each([0, 1, 4, 5, 1023, 1024, 1030, 20_000])('of %i bytes is read as it was written', (length) => {
    const part = cache.subarray(0, length);

    expect(openedCache(sealedCache(part))?.equals(part)).toBe(true);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['less than a checksum', Buffer.alloc(3)],
    ['its beginning', sealedCache(cache).subarray(0, 9_000)],
    ['its beginning, and zeros in place of the rest', withZeros(sealedCache(cache), 8_192, 20_004)],
    ['zeros in place of a block', withZeros(sealedCache(cache), 4_096, 8_192)],
    ['zeros only', Buffer.alloc(20_004)],
  ])('is not used if the disk has %s', (_what, stored) => {
    expect(openedCache(stored)).toBeUndefined();
  });
});

function withZeros(stored: Buffer, from: number, to: number): Buffer {
  return Buffer.from(stored).fill(0, from, to);
}
