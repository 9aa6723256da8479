import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../apps/web/src');

/** Words that have another word on the screens. See decision 90. */
const replaced: readonly (readonly [RegExp, string])[] = [
  [/\bworkloads?\b/i, 'server'],
  [/\bupgrad(?:e[ds]?|ing)\b/i, 'update'],
  [/\bdelet(?:e[ds]?|ing)\b/i, 'remove'],
  [/^apply\b/i, 'save'],
  [/^stored?$/i, 'save'],
  [/\bend(?:s|ed|ing)? learning\b/i, 'stop learning'],
];

/** Phrases that the daemon writes, and the screens only compare with. */
const compared: ReadonlySet<string> = new Set(['workload runs', 'workload failed']);

test('the screens use one word for one thing', async () => {
  const found: string[] = [];

  for await (const file of glob('**/*.{ts,tsx}', { cwd: source })) {
    if (/\.test\.tsx?$|^testing\//.test(file)) continue;
    for (const text of textsOf(file, await readFile(join(source, file), 'utf8'))) {
      for (const [word, instead] of replaced)
        if (word.test(text) && !compared.has(text)) found.push(`${file}: ${text} (use ${instead})`);
    }
  }

  expect(found).toEqual([]);
});

test.each([
  ['a text', '<p>Start the workload now.</p>'],
  ['a label', '<Field label="workload" />'],
  ['a sentence', "toast('The workload restarts.')"],
  ['a template', 'toast(`Stop the workload ${name}`)'],
  ['a title', "open('Workloads', '/')"],
  ['a counted noun', "count(list.length, 'workload')"],
])('the check finds %s', (_kind, code) => {
  expect(textsOf('x.tsx', code).filter((text) => /workload/i.test(text))).toHaveLength(1);
});

test.each(["event.type === 'workload.changed'", '`/workloads/${name}`', "import { a } from './workload.ts'"])(
  'the check leaves out other texts: %s',
  (code) => {
    expect(textsOf('x.ts', code)).toEqual([]);
  },
);

const readAttributes = /^(?:aria-label|alt|label|title|hint|placeholder|what|legend|summary|empty)$/;

/** The texts of a file that a person reads or hears. */
function textsOf(file: string, code: string): string[] {
  const texts: string[] = [];
  const add = (text: string): void => {
    const trimmed = text.replaceAll(/\s+/g, ' ').trim();
    if (trimmed !== '') texts.push(trimmed);
  };
  /** A sentence or a title, and not the name of a field, an event, a file, or an HTTP method. */
  const addProse = (text: string): void => {
    if (text.includes(' ') || /^[A-Z][a-z]+$/.test(text)) add(text);
  };
  new Visitor({
    JSXText: ({ value }) => add(value),
    JSXAttribute: ({ name, value }) => {
      if (
        value?.type === 'Literal' &&
        typeof value.value === 'string' &&
        name.type === 'JSXIdentifier' &&
        readAttributes.test(name.name)
      )
        add(value.value);
    },
    Literal: ({ value }) => {
      if (typeof value === 'string') addProse(value);
    },
    TemplateElement: ({ value }) => addProse(value.cooked ?? ''),
    CallExpression: ({ callee, arguments: [, noun] }) => {
      const isCount = callee.type === 'Identifier' && callee.name === 'count';
      if (isCount && noun?.type === 'Literal' && typeof noun.value === 'string') add(noun.value);
    },
  }).visit(parseSync(file, code).program);
  return texts;
}
