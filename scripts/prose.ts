// Counts the wording that makes text read as translated, and reports each pattern that exceeds its limit.
import { glob, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { Visitor, parseSync } from 'oxc-parser';
import { glossary } from '../apps/docs/src/plugins/references/glossary.ts';

/** A text in which everything except prose is blank, so that every word keeps its place in the file. */
export interface Prose {
  file: string;
  text: string;
  headings: readonly string[];
}

type Unit = 'words' | 'headings';

interface Pattern {
  name: string;
  matches: RegExp;
  /** The limits count matches per 1,000 words, or the share of headings with a match. */
  unit: Unit;
}

const parts =
  'address(?:es)?|arguments?|certificates?|configurations?|credentials?|entry|entries|environment|files?|images?|keys?|limits?|logs?|packages?|passwords?|permissions?|ports?|process(?:es)?|prox(?:y|ies)|settings?|status|tokens?|tools?|variables?';
const owners =
  'API|clients?|containers?|daemon|Go|groups?|images?|npm|packages?|prox(?:y|ies)|PyPI|registr(?:y|ies)|secrets?|servers?|tools?|workloads?';

const avoided = glossary.flatMap(({ avoid }) => avoid).join('|');

const patterns = {
  'pronoun in a heading': { matches: /\b(?:it|them|that|some|there)\b/gi, unit: 'headings' },
  it: { matches: /\bit\b/gi, unit: 'words' },
  'clause that starts with "what"': {
    matches: /(?<=[\p{Ll},:)–—*][*_]{0,2}\s+[*_]{0,2})what\s+\p{L}/gu,
    unit: 'words',
  },
  'noun of noun': {
    matches: new RegExp(
      `\\b(?:${parts}) of (?:(?:the|a|an|your|its|their|this|that|each) )?(?:${owners})\\b`,
      'g',
    ),
    unit: 'words',
  },
  'somebody, nobody, everybody, whoever, whom': {
    matches: /(?<!")\b(?:somebody|nobody|everybody|whoever|whom)\b/gi,
    unit: 'words',
  },
  'stands in, is there, is no, of yours': {
    matches:
      /\bst(?:ands?|ood) (?:in|on|below)\b|\b(?:is|are|was|were) (?:not |already )?there\b|\b(?:is|are|was|were) no (?!longer|more\b)\p{L}+|\bof (?:yours|ours|theirs)\b/gu,
    unit: 'words',
  },
  'wording that the glossary avoids': { matches: new RegExp(`\\b(?:${avoided})\\b`, 'gi'), unit: 'words' },
  semicolon: { matches: /;(?=\s)/g, unit: 'words' },
} as const satisfies Record<string, Omit<Pattern, 'name'>>;

type PatternName = keyof typeof patterns;

interface Scope {
  name: string;
  /** Files by glob, relative to the repository. */
  include: readonly string[];
  exclude: readonly RegExp[];
  read: (file: string, source: string) => Prose;
}

/**
 * The highest number of matches per 1,000 words, or the highest share of headings. There are no minimums, because authors
 * would meet them with padding.
 */
type Limits = Partial<Record<PatternName, number>>;

const ceilings: Limits = {
  'pronoun in a heading': 0.02,
  it: 10,
  'clause that starts with "what"': 0.5,
  'noun of noun': 0.5,
  'somebody, nobody, everybody, whoever, whom': 0,
  'stands in, is there, is no, of yours': 0.2,
  'wording that the glossary avoids': 0,
  semicolon: 1,
};

const scopes: readonly Scope[] = [
  {
    name: 'pages',
    include: ['apps/docs/docs/**/*.mdx', '{README,CONTRIBUTING,SECURITY,CHANGELOG}.md', 'examples/*.md'],
    exclude: [],
    read: readPage,
  },
  {
    name: 'decisions',
    include: ['docs/**/*.md', 'apps/cli/README.md', 'bench/README.md', 'packages/**/README.md'],
    exclude: [/node_modules/],
    read: readPage,
  },
  {
    name: 'product text',
    include: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.{ts,tsx}'],
    exclude: [/\.test\.tsx?$/, /\/testing\//, /generated/, /references\/glossary\.ts$/],
    read: readCode,
  },
];

/** The patterns beyond their limits in every scope, with examples. */
export async function findProse(): Promise<string[]> {
  return (await Promise.all(scopes.map(async (scope) => judge(scope.name, await readScope(scope))))).flat();
}

/** Compares the texts with the limits. Exported for tests. */
export function judge(name: string, texts: readonly Prose[], limits: Limits = ceilings): string[] {
  const words = texts.reduce((sum, { text }) => sum + (text.match(/\p{L}[\p{L}'’-]*/gu)?.length ?? 0), 0);
  const headings = texts.flatMap((one) => one.headings).length;
  return Object.entries(limits).flatMap(([key, limit]) => {
    const pattern: Omit<Pattern, 'name'> = patterns[key as PatternName]; // the keys of limits are pattern names
    const found = texts.flatMap((one) => occurrences(pattern, one));
    const isHeadings = pattern.unit === 'headings';
    const rate = isHeadings
      ? found.length / Math.max(1, headings)
      : (1000 * found.length) / Math.max(1, words);
    if (rate <= limit) return [];
    const measure = isHeadings ? 'of all headings' : 'per 1,000 words';
    const title = `${name}: "${key}" occurs ${rate.toFixed(2)} ${measure} (at most ${limit})`;
    return [title, ...found.slice(0, most).map((where) => `  ${where}`)];
  });
}

/** Examples that are printed for each pattern. */
const most = Number(process.env['PROSE_EXAMPLES'] ?? 10);

function occurrences({ matches, unit }: Omit<Pattern, 'name'>, { file, text, headings }: Prose): string[] {
  if (unit === 'headings') {
    return headings
      .filter((heading) => heading.search(matches) !== -1)
      .map((heading) => `${file}: ${heading}`);
  }
  return Array.from(text.matchAll(matches), ({ 0: match, index }) => {
    const line = text.slice(0, index).split('\n').length;
    const around = text.slice(Math.max(0, index - 40), index + match.length + 40).replaceAll(/\s+/g, ' ');
    return `${file}:${line}: …${around.trim()}…`;
  });
}

async function readScope({ include, exclude, read }: Scope): Promise<Prose[]> {
  const root = new URL('..', import.meta.url).pathname;
  const options = { cwd: root, exclude: (name: string) => name === 'node_modules' };
  const files = (await Array.fromAsync(glob([...include], options))).filter(
    (file) => !exclude.some((pattern) => pattern.test(file)),
  );
  return Promise.all(
    files
      .toSorted()
      .map(async (file) => read(relative(root, `${root}${file}`), await readFile(`${root}${file}`, 'utf8'))),
  );
}

/** Keeps line breaks, so that positions stay the same. */
const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** A Markdown page without its code, imports, tags, comments, and link targets. */
export function readPage(file: string, source: string): Prose {
  const text = source
    .replace(/^---\n[\s\S]*?\n---$/m, (matter) =>
      matter.replaceAll(/^(?!title:|description:).*$|^\w+:|['"]/gm, blank),
    )
    .replaceAll(/^( *)(`{3,})[\s\S]*?^\1\2 *$/gm, blank)
    .replaceAll(/\{\/\*[\s\S]*?\*\/\}|<!--[\s\S]*?-->/g, blank)
    .replaceAll(/^(?:import|export) .*$/gm, blank)
    .replaceAll(/`[^`\n]*`/g, (code) => 'C'.padEnd(code.length, 'x'))
    .replaceAll(/<\/?[A-Za-z][^>]*>|&\w+;|\{#[^}]*\}|:::\w*/g, blank)
    .replaceAll(/(?<=\])\([^)\s]*\)/g, blank);
  const headings = Array.from(text.matchAll(/^#{1,6} +(.*)$/gm), ([, heading = '']) => heading.trim());
  return { file, text, headings };
}

/** The comments and the sentences in strings of a TypeScript file. Template literals of several lines are programs. */
export function readCode(file: string, source: string): Prose {
  const { program, comments } = parseSync(file, source);
  const spans: Span[] = [...comments];
  const add = ({ start, end }: Span): void => void spans.push({ start, end });
  new Visitor({
    Literal: (node) => typeof node.value === 'string' && add(node),
    TemplateLiteral: (node) => source.slice(node.start, node.end).includes('\n') || add(node),
    JSXText: add,
  }).visit(program);
  let text = '';
  let end = 0;
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    if (span.start < end) continue; // inside of a template literal
    const part = source.slice(span.start, span.end);
    text += blank(source.slice(end, span.start)) + (isSentence(part) ? sentenceOf(part) : blank(part));
    end = span.end;
  }
  return { file, text: text + blank(source.slice(end)), headings: [] };
}

interface Span {
  start: number;
  end: number;
}

/** Identifiers, paths, and keys are shorter. */
const isSentence = (text: string): boolean => text.trim().split(/\s+/).length >= 4;

const sentenceOf = (text: string): string =>
  text
    .replaceAll(/\$\{[^}]*\}/g, (value) => 'X'.padEnd(value.length, 'x'))
    .replaceAll(/^\s*\*(?!\*)|[`/]\*+|\*\//gm, blank);

if (import.meta.main) {
  for (const scope of scopes)
    process.stdout.write(`${judge(scope.name, await readScope(scope)).join('\n')}\n`);
}
