import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { loadParts, packFile, packOf, scriptText } from './parts.ts';

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
