import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '../apps/web/src');
const packages = join(import.meta.dirname, '../packages');

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

/** Files without a text that a screen shows: commands, Kubernetes, the API reference, and tests. */
const elsewhere =
  /^(?:cli|kubernetes|operator|testing|test-servers|contract\/src\/operations?)\b|\/testing\/|\.test\.ts$/;

test('messages of the daemon, which screens show unchanged, say server or the name', async () => {
  const found: string[] = [];

  for await (const file of glob('*/src/**/*.ts', { cwd: packages })) {
    if (elsewhere.test(file)) continue;
    for (const text of messagesOf(file, await readFile(join(packages, file), 'utf8')))
      if (/\bworkloads?\b/i.test(text)) found.push(`${file}: ${text}`);
  }

  expect(found).toEqual([]);
});

test.each([
  ['a failure', "throw conflict('the workload runs already')"],
  ['a hint', "throw conflict('it runs', { hint: 'stop the workload' })"],
  ['a template', 'throw notFound(`workload ${name} not found`)'],
  ['a finding', "const found = [ok('no workloads')]"],
  ['the message of a schema', "z.string().min(1, 'a workload needs a name').meta({ description: 'x' })"],
  ['a step', "call.report('restoring the workload')"],
])('the check of messages finds %s', (_kind, code) => {
  expect(messagesOf('x.ts', code).filter((text) => /workload/i.test(text))).toHaveLength(1);
});

test.each([
  ['a text of the API reference', "const a = { description: 'The name of the workload.' }"],
  ['a text about a field', "z.string().meta({ description: text('The name of the workload.') })"],
  ['a record of the log', "log.info({ name }, 'workload is stopped')"],
  ['a command', "throw conflict('it runs', { hint: 'see all workloads with thv list' })"],
  ['a query', "db.prepare('DELETE FROM calls WHERE workload = ?')"],
])('the check of messages leaves out %s', (_kind, code) => {
  expect(messagesOf('x.ts', code).filter((text) => /workload/i.test(text))).toEqual([]);
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

/** Functions whose texts no screen shows: those of the API reference, and records of the log. */
const unshown = /^(?:describe|meta|text|when|operation|info|warn|error|debug|note)$/;
const isQuery = (text: string): boolean => /\b(?:SELECT|UPDATE|DELETE|CREATE|INSERT)\b|= \?/.test(text);

/** The sentences of a file of the daemon that a screen may show. Hints with commands are only copied. */
function messagesOf(file: string, code: string): string[] {
  const found = new Map<number, string>();
  const add = (start: number, text: string): void => {
    if (text.includes(' ') && !text.includes('\0') && !isQuery(text) && !/\bthv\b/.test(text))
      found.set(start, text);
  };
  const unread: { start: number; end: number }[] = [];
  new Visitor({
    Literal: ({ start, value }) => {
      if (typeof value === 'string') add(start, value);
    },
    TemplateLiteral: ({ start, quasis }) => add(start, quasis.map(({ value }) => value.cooked).join('…')),
    Property: ({ key, value }) => {
      if (key.type === 'Identifier' && /^(?:description|summary)$/.test(key.name)) unread.push(value);
    },
    CallExpression: ({ callee, arguments: given }) => {
      const named = callee.type === 'MemberExpression' ? callee.property : callee;
      if (named.type === 'Identifier' && unshown.test(named.name)) unread.push(...given);
    },
  }).visit(parseSync(file, code).program);
  return [...found]
    .filter(([at]) => !unread.some(({ start, end }) => start <= at && at < end))
    .map(([, text]) => text);
}
