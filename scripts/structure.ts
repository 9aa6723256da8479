// The figures of the structure: `npm run structure`. `npm run check` compares them with the limits (decision 64).
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import type { Expression } from 'oxc-parser';

const root = new URL('..', import.meta.url).pathname;

interface Structure {
  core: { lines: number; publicFiles: number; openCoreLines: number };
  /** The largest group of files of one package that import each other, also only for types. */
  largestCircle: readonly string[];
  longClasses: readonly string[];
  longFunctions: readonly string[];
  /** Functions of requests that V8 keeps for longer. */
  lastingFunctions: readonly string[];
}

const MAX_CLASS_LINES = 250;
const MAX_FUNCTION_LINES = 100;
const MAX_CORE_LINES = 16_000;
const MAX_PUBLIC_FILES = 25;
const MAX_OPEN_CORE_LINES = 70;
const MAX_CIRCLE = 14;
/** Functions that are data: they return a schema. */
const DATA = ['packages/contract/src/schemas/registry.ts'];
const DECISION = 'docs/decisions/0064-core-has-wings-and-parts.md';
const LASTING = 'docs/decisions/0092-no-lasting-functions-per-request.md';
/** Where almost everything is created once for each request. */
const PER_REQUEST = 'packages/proxy/';

interface Source {
  file: string;
  text: string;
}

async function sources(): Promise<Source[]> {
  const found: Source[] = [];
  const options = { exclude: (name: string) => ['node_modules', 'dist', 'testing'].includes(name) };
  for await (const path of glob(`${root}{packages,apps}/*/src/**/*.ts`, options)) {
    const file = relative(root, path);
    if (!file.endsWith('.test.ts')) found.push({ file, text: await readFile(path, 'utf8') });
  }
  return found;
}

interface Long {
  classes: string[];
  functions: string[];
}

/** The classes and functions of a file that are too long, each with its place and its length. */
export function longParts({ file, text }: Source): Long {
  const starts = [0, ...text.matchAll(/\n/g).map(({ index }) => index + 1)];
  const lineOf = (offset: number): number => starts.findLastIndex((start) => start <= offset) + 1;
  const long: Long = { classes: [], functions: [] };
  const note = (list: string[], { start, end }: { start: number; end: number }, most: number): void => {
    const [first, last] = [lineOf(start), lineOf(end)];
    if (last - first + 1 > most) list.push(`${file}:${first} has ${last - first + 1} lines`);
  };
  const isFunction = (node: { start: number; end: number }): void =>
    note(long.functions, node, MAX_FUNCTION_LINES);
  const isClass = (node: { start: number; end: number }): void => note(long.classes, node, MAX_CLASS_LINES);
  new Visitor({
    ClassDeclaration: isClass,
    FunctionDeclaration: isFunction,
    FunctionExpression: isFunction,
    ArrowFunctionExpression: isFunction,
  }).visit(parseSync(file, text).program);
  return long;
}

/**
 * The places where a file assigns a function to a property, or defines a getter or setter in an object literal. V8 creates
 * such functions in the old generation, where they keep everything that they refer to until the next major collection.
 */
export function lastingFunctions({ file, text }: Source): string[] {
  const found: string[] = [];
  const note = ({ start }: { start: number }): number =>
    found.push(`${file}:${text.slice(0, start).split('\n').length}`);
  new Visitor({
    AssignmentExpression(node) {
      if (node.left.type === 'MemberExpression' && isFunction(node.right)) note(node);
    },
    Property(node) {
      if (node.kind !== 'init') note(node);
    },
  }).visit(parseSync(file, text).program);
  return found;
}

/** Whether an expression is a function. Parentheses and casts around it change nothing for V8. */
function isFunction({ type, ...node }: Expression): boolean {
  if (type === 'ParenthesizedExpression' || type === 'TSAsExpression')
    return 'expression' in node && isFunction(node.expression as Expression);
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression';
}

const importOfFile = /^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'/gm;

/** The largest strongly connected group of files (Tarjan's algorithm). */
export function largestCircle(files: readonly Source[]): string[] {
  const imports = new Map(
    files.map(({ file, text }) => [
      file,
      [...text.matchAll(importOfFile)].map(([, name = '']) => join(dirname(file), name)),
    ]),
  );
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  let largest: string[] = [];
  const visit = (file: string): number => {
    const number = numbers.size;
    numbers.set(file, number);
    let low = number;
    stack.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!numbers.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, lowest.get(next) ?? numbers.get(next) ?? low);
    }
    lowest.set(file, low);
    if (low === number) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > largest.length) largest = circle;
    }
    return low;
  };
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file);
  return largest.toSorted();
}

export async function measureStructure(): Promise<Structure> {
  const files = await sources();
  const core = files.filter(({ file }) => file.startsWith('packages/core/'));
  const { exports } = JSON.parse(await readFile(`${root}packages/core/package.json`, 'utf8')) as {
    exports: Record<string, string>;
  };
  const opening = core.find(({ file }) => file.endsWith('/open-core.ts'))?.text ?? '';
  const long = files.map(longParts);
  return {
    core: {
      lines: core.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
      publicFiles: Object.keys(exports).filter((name) => !name.startsWith('./testing')).length,
      openCoreLines: opening.slice(opening.indexOf('export async function openCore')).trimEnd().split('\n')
        .length,
    },
    largestCircle: largestCircle(files),
    longClasses: long.flatMap(({ classes }) => classes),
    longFunctions: long.flatMap(({ functions }) => functions),
    lastingFunctions: files.filter(({ file }) => file.startsWith(PER_REQUEST)).flatMap(lastingFunctions),
  };
}

/** Returns each figure over its limit as a sentence. The decision gives reasons for longer classes. */
export async function findStructureBreaches(): Promise<string[]> {
  const figures = await measureStructure();
  const { core, largestCircle: circle, longClasses, longFunctions } = figures;
  const reasons = await readFile(`${root}${DECISION}`, 'utf8');
  const fileOf = (place: string): string => place.slice(0, place.indexOf(':'));
  const over = (what: string, figure: number, most: number): string[] =>
    figure > most ? [`${what}: ${figure}, at most ${most}`] : [];
  return [
    ...over('lines of core', core.lines, MAX_CORE_LINES),
    ...over('public files of core', core.publicFiles, MAX_PUBLIC_FILES),
    ...over('lines of openCore', core.openCoreLines, MAX_OPEN_CORE_LINES),
    ...over(`files in the circle with ${circle[0]}`, circle.length, MAX_CIRCLE),
    ...longClasses
      .filter((place) => !reasons.includes(`\`${fileOf(place)}\``))
      .map((place) => `the class at ${place}, at most ${MAX_CLASS_LINES} without a reason in ${DECISION}`),
    ...longFunctions
      .filter((place) => !DATA.includes(fileOf(place)))
      .map((place) => `the function at ${place}, at most ${MAX_FUNCTION_LINES}`),
    ...figures.lastingFunctions.map(
      (place) => `the function at ${place} outlives its request. Give it a name first (${LASTING})`,
    ),
  ];
}

if (import.meta.main) {
  const { core, largestCircle: circle, longClasses, longFunctions } = await measureStructure();
  const lines = [
    `core: ${core.lines} lines, ${core.publicFiles} public files, openCore ${core.openCoreLines} lines`,
    `largest circle of imports, types included: ${circle.length} files`,
    ...circle.map((file) => `  ${file}`),
    `classes over ${MAX_CLASS_LINES} lines: ${longClasses.length}`,
    ...longClasses.map((each) => `  ${each}`),
    `functions over ${MAX_FUNCTION_LINES} lines: ${longFunctions.length}`,
    ...longFunctions.map((each) => `  ${each}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
