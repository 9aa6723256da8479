import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';
import { invalid } from '@toolhive/contract/failure';
import { flagsOf, globalFlags, isShown, namesOf } from './command.ts';
import type { Argument, Command, FlagValues, OtherVersions, Program } from './command.ts';
import { readFlags } from './flag-values.ts';
import type { GivenFlags } from './flag-values.ts';

/** A command line that was understood. */
export interface Invocation {
  command: Command;
  arguments: string[];
  flags: FlagValues;
  rest: string[];
}

/**
 * Parses the command line. Returns text if the user asked for help. Throws `invalid` for mistakes. This is a custom
 * parser, because loading a library takes longer than a short command.
 */
export async function understand(
  program: Program,
  words: readonly string[],
): Promise<Invocation | { help: string }> {
  const isHelpCommand = words[0] === 'help';
  const { path, command, others } = find(program, isHelpCommand ? words.slice(1) : words);
  const own = command === undefined ? others : others.slice(0, await ownCount(command, others));
  const wantsHelp = isHelpCommand || own.includes('--help') || own.includes('-h');
  if (command !== undefined && !wantsHelp) return invocationOf(program, command, others);

  for (const word of wantsHelp ? others.filter((other) => !other.startsWith('-')) : others) {
    if (word.startsWith('-')) await requireGlobal(program, word);
    else if (command === undefined) throw await unknownCommand(program, path, word);
  }
  const { helpOf } = await import('./help.ts');
  return { help: helpOf(program, path) };
}

interface Found {
  /** As far as the words led. */
  path: string;
  /** Undefined for a word that only leads to others, and for the program itself. */
  command: Command | undefined;
  others: string[];
}

/** Follows the words to the command that they name. What every command takes may stand between them. */
function find({ commands, groups }: Program, words: readonly string[]): Found {
  let path = '';
  const others: string[] = [];
  for (const [index, word] of words.entries()) {
    const isGlobal = isGlobalFlag(word);
    const next = isGlobal ? undefined : stepFrom(path, word, { commands, groups });
    if (next !== undefined) path = next;
    else if (isGlobal) others.push(word);
    else {
      others.push(...words.slice(index));
      break;
    }
  }
  return { path, command: commands.find((candidate) => candidate.path === path), others };
}

/** The path that a word leads to from another path. Undefined if it leads nowhere. */
export function stepFrom(path: string, word: string, { commands, groups }: Program): string | undefined {
  const prefix = path === '' ? '' : `${path} `;
  const command = commands.find(
    (candidate) => parentOf(candidate.path) === path && namesOf(candidate).some((name) => name === word),
  );
  if (command !== undefined) return command.path;
  return groups.some((group) => group.path === prefix + word) ? prefix + word : undefined;
}

/** The path without its last word. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(' ')));
}

/** How many words belong to the command itself, without the words after `--` or of another program. */
async function ownCount(command: Command, words: readonly string[]): Promise<number> {
  const end = command.takesRest === true && words.includes('--') ? words.indexOf('--') : words.length;
  const first = tokensOf(command, words).find(({ kind }) => kind === 'positional')?.index ?? end;
  const isOther = first < end && (await command.isOther?.(words.slice(first))) === true;
  return isOther ? first : end;
}

async function invocationOf(
  program: Program,
  command: Command,
  words: readonly string[],
): Promise<Invocation> {
  const { positionals, rest, given } = await split(program, command, words);
  const { arguments: declared = [] } = command;
  const missing = declared.find(
    ({ required }, index) => required === true && positionals[index] === undefined,
  );
  if (missing !== undefined) throw invalid(`${labelOf(missing)} is missing`, hintFor(command));
  const excess = declared.at(-1)?.variadic === true ? undefined : positionals[declared.length];
  if (excess !== undefined) {
    if (positionals.length === 1) throw await unknownCommand(program, command.path, excess);
    const { otherCommands } = await othersOf(program);
    const hint =
      hintIn(otherCommands, `${command.path} ${positionals[0]}`) ?? command.excessHint?.(positionals);
    throw invalid(
      command.hidesExcess === true ? 'too many arguments' : `unexpected argument ${JSON.stringify(excess)}`,
      hint === undefined ? hintFor(command) : { hint },
    );
  }
  for (const [index, { choices, ...argument }] of declared.entries()) {
    const text = positionals[index];
    if (text !== undefined && choices?.includes(text) === false)
      throw invalid(`${labelOf(argument)} is one of ${choices.join(', ')}, not ${JSON.stringify(text)}`);
  }
  return { command, arguments: positionals, rest, flags: readFlags(command, given) };
}

function labelOf({ name }: Argument): string {
  return name.toUpperCase();
}

function hintFor({ path }: Command): { hint: string } {
  return { hint: `run thv ${path} --help to see its usage` };
}

interface Words {
  positionals: string[];
  rest: string[];
  given: GivenFlags;
}

/** Separates flags, arguments, and the words after `--`. */
async function split(program: Program, command: Command, all: readonly string[]): Promise<Words> {
  const flags = flagsOf(command);
  const count = await ownCount(command, all);
  // The words of another program are passed on unread.
  const isOther = count < all.length && all[count] !== '--';
  const words = isOther ? [...all.slice(0, count), '--', ...all.slice(count)] : all;
  const tokens = tokensOf(command, words);
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? words.length;
  const positionals: string[] = [];
  const rest: string[] = [];
  const given = new Map<string, (string | true)[]>();
  for (const token of tokens) {
    if (token.kind === 'positional') {
      const isRest = token.index > end && command.takesRest === true;
      (isRest ? rest : positionals).push(token.value);
    } else if (token.kind === 'option') {
      const flag = flags.find(({ name }) => name === token.name);
      if (flag === undefined) throw await unknownFlag(program, command, token.rawName);
      if (flag.kind !== 'boolean' && token.value === undefined) throw invalid(`--${flag.name} needs a value`);
      given.set(flag.name, [...(given.get(flag.name) ?? []), token.value ?? true]);
    }
  }
  return { positionals, rest, given };
}

function tokensOf(command: Command, words: readonly string[]) {
  const options = flagsOf(command).map(({ name, kind, shorthand }) => [
    name,
    {
      type: kind === 'boolean' ? ('boolean' as const) : ('string' as const),
      ...(shorthand === undefined ? {} : { short: shorthand }),
    },
  ]);
  return parseArgs({
    args: [...words],
    strict: false,
    tokens: true,
    options: Object.fromEntries(options) as NonNullable<ParseArgsConfig['options']>,
  }).tokens;
}

async function requireGlobal(program: Program, word: string): Promise<void> {
  if (isGlobalFlag(word)) return;
  const { otherFlags } = await othersOf(program);
  throw invalid(`unknown flag ${word}`, {
    hint: hintIn(otherFlags, word) ?? 'run thv --help to see all commands',
  });
}

function isGlobalFlag(word: string): boolean {
  const [flag] = word.split('=', 1);
  return globalFlags.some(({ name }) => flag === `--${name}`);
}

async function unknownFlag(program: Program, command: Command, typed: string): Promise<Error> {
  const { otherFlags } = await othersOf(program);
  const message = `thv ${command.path} has no flag ${typed}`;
  const other = hintIn(otherFlags, `${command.path} ${typed}`);
  if (other !== undefined) return invalid(message, { hint: other });
  const { nearest } = await import('@toolhive/contract/nearest');
  const known = flagsOf(command)
    .filter(isShown)
    .map(({ name }) => `--${name}`);
  const meant = nearest(typed, known);
  return invalid(message, meant === undefined ? hintFor(command) : { hint: `did you mean ${meant}?` });
}

async function othersOf({ others }: Program): Promise<OtherVersions> {
  return (await others?.()) ?? { otherCommands: {}, otherFlags: {} };
}

function hintIn(hints: Readonly<Record<string, string>>, words: string): string | undefined {
  return Object.hasOwn(hints, words) ? hints[words] : undefined;
}

async function unknownCommand(program: Program, path: string, typed: string): Promise<Error> {
  const { commands, groups } = program;
  const before = path === '' ? 'thv' : `thv ${path}`;
  const message = `${before} has no command ${JSON.stringify(typed)}`;
  const { otherCommands } = await othersOf(program);
  const other = hintIn(otherCommands, `${path} ${typed}`.trim());
  if (other !== undefined) return invalid(message, { hint: other });
  const { nearest } = await import('@toolhive/contract/nearest');
  const known = [
    ...commands.flatMap((command) =>
      parentOf(command.path) === path && command.hidden !== true ? namesOf(command) : [],
    ),
    ...groups.flatMap((group) => (parentOf(group.path) === path ? group.path.slice(path.length).trim() : [])),
  ];
  const meant = nearest(typed, known);
  return invalid(message, {
    hint: meant === undefined ? `run ${before} --help to see the commands` : `did you mean ${meant}?`,
  });
}
