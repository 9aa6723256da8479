import { standardOutput } from './standard-streams.ts';
import { flagsOf, isShown, namesOf } from './command.ts';
import type { Argument, Command, CommandGroup, Flag, Program } from './command.ts';
import { parentOf } from './program.ts';

/** The product's summary. */
export const about = 'Runs MCP servers in isolation, behind a proxy that supports every protocol version.';

/** Lines are not longer than this, however wide the terminal is. */
const widest = 100;

/** What there is to know of a command, of a word that leads to others, or, for an empty path, of all of them. */
export function helpOf(program: Program, path: string): string {
  const command = program.commands.find((candidate) => candidate.path === path);
  const group = program.groups.find((candidate) => candidate.path === path);
  const intro = command?.description ?? command?.summary ?? group?.summary ?? about;
  const parts = [
    fill(asSentence(intro), 0),
    section(
      'Usage',
      usageOf(program, path).map((line) => `  ${line}`),
    ),
    section('Aliases', command?.aliases === undefined ? [] : [`  ${namesOf(command).join(', ')}`]),
    section(
      'Arguments',
      rowsOf((command?.arguments ?? []).map(({ name, description }) => [name, description])),
    ),
    section(
      'Commands',
      rowsOf(childrenOf(program, path).map((child) => [child.path.slice(path.length).trim(), child.summary])),
    ),
    ...(command === undefined ? [] : flagSectionsOf(flagsOf(command))).map(([title, flags]) =>
      section(title, rowsOf(flags.map(rowOf))),
    ),
    ...(command?.unformatted === undefined ? [] : [fill(formatRemark(command.unformatted), 0)]),
    section('Examples', examplesOf(program, path).flatMap(linesOfExample)),
    ...(command === undefined ? [`\`thv ${path === '' ? '' : `${path} `}COMMAND --help\` shows more.`] : []),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** A command's examples. For a command group, the first example of each of its commands, up to a limit. */
function examplesOf(program: Program, path: string): readonly string[] {
  const command = program.commands.find((candidate) => candidate.path === path);
  if (command !== undefined) return command.examples ?? [];
  if (path === '') return program.examples ?? [];
  const below = program.commands.filter((candidate) => candidate.path.startsWith(`${path} `));
  return below
    .flatMap(({ examples = [], hidden }) => (hidden === true ? [] : examples.slice(0, 1)))
    .slice(0, 3);
}

/** An example in lines of which a shell makes one again. */
function linesOfExample(example: string): string[] {
  const lines: string[] = [];
  for (const part of example.split(/ (?=--? ?)/)) {
    const last = lines.at(-1);
    if (last === undefined || `  $ ${last} ${part} \\`.length > widthNow()) lines.push(part);
    else lines[lines.length - 1] = `${last} ${part}`;
  }
  return lines.map((line, index) => {
    const end = index === lines.length - 1 ? '' : ' \\';
    return `${index === 0 ? '  $ ' : '      '}${line}${end}`;
  });
}

function widthNow(): number {
  return Math.min(standardOutput.columns || widest, widest);
}

/** Why a command does not print its result as others do. */
export function formatRemark(unformatted: string): string {
  return `This command has no --format, because ${unformatted}.`;
}

/** A text with an end. */
export function asSentence(text: string): string {
  return /[.!]$/.test(text) ? text : `${text}.`;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.join('\n')}`;
}

/** The ways to type a command, or a word that leads to others, a line each. */
export function usageOf(program: Program, path: string): string[] {
  const command = program.commands.find((candidate) => candidate.path === path);
  const name = path === '' ? 'thv' : `thv ${path}`;
  const hasChildren = childrenOf(program, path).length > 0;
  const words = [name, '[flags]', ...(command?.arguments ?? []).map(placeOf)];
  const rest = command?.takesRest === true ? ['[-- ARGUMENTS...]'] : [];
  return [
    ...(command === undefined ? [] : [[...words, ...rest].join(' ')]),
    ...(hasChildren ? [`${name} COMMAND`] : []),
  ];
}

/** An argument in the usage line. */
export function placeOf({ name, required, variadic }: Argument): string {
  const label = `${name.toUpperCase()}${variadic === true ? '...' : ''}`;
  return required === true ? label : `[${label}]`;
}

/** What is one word longer than a path: commands that are shown, and words that lead to others, sorted. */
export function childrenOf({ commands, groups }: Program, path: string): (Command | CommandGroup)[] {
  const shown = commands.filter(({ hidden }) => hidden !== true);
  return [...shown, ...groups.filter((group) => !shown.some((command) => command.path === group.path))]
    .filter((child) => child.path !== '' && parentOf(child.path) === path)
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/**
 * The visible and available flags, under their headings. Flags without a heading come first, in any declaration
 * order.
 */
export function flagSectionsOf(flags: readonly Flag[]): [title: string, flags: Flag[]][] {
  const sections = new Map<string, Flag[]>([['Flags', []]]);
  for (const flag of flags.filter(isShown)) {
    const title = flag.section ?? 'Flags';
    sections.set(title, [...(sections.get(title) ?? []), flag]);
  }
  return [...sections].filter(([, members]) => members.length > 0);
}

function rowOf(flag: Flag): [string, string] {
  const { name, shorthand, kind, value, description, choices, default: preset, required } = flag;
  const label = `${shorthand === undefined ? '    ' : `-${shorthand}, `}--${name}`;
  const remarks = [
    ...(required === true ? ['required'] : []),
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}`]),
    ...(kind === 'list' || kind === 'words' ? ['can be repeated'] : []),
    ...(preset === undefined || [preset].flat().length === 0
      ? []
      : [`default: ${[preset].flat().join(', ')}`]),
  ];
  return [
    kind === 'boolean' ? label : `${label} ${value ?? 'VALUE'}`,
    `${description}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}`,
  ];
}

/** A label that is wider than this has its description on the next line. */
const widestLabel = 34;

function rowsOf(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(0, ...rows.map(([label]) => label.length).filter((length) => length <= widestLabel));
  const indent = width + 4;
  return rows.flatMap(([label, description]) => {
    const text = fill(description, indent);
    return label.length > width
      ? [`  ${label}`, ' '.repeat(indent) + text]
      : [`  ${label.padEnd(width)}  ${text}`];
  });
}

/** Wraps lines between words. Every line but the first is indented. Paragraphs stay separate. */
function fill(text: string, indent: number): string {
  const width = widthNow() - indent;
  return text
    .split('\n')
    .flatMap((paragraph) => linesOf(paragraph, Math.max(20, width)))
    .join(`\n${' '.repeat(indent)}`);
}

function linesOf(paragraph: string, width: number): string[] {
  const lines = [''];
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
