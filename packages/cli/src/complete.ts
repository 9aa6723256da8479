import { flagsOf, isShown, namesOf } from './command.ts';
import type { Argument, Command, Completion, Flag, Program } from './command.ts';
import { parentOf, stepFrom } from './program.ts';

/** A completion for the last word. */
export interface Candidate {
  word: string;
  description?: string | undefined;
}

/** The completions: these words, or file or directory names, which the shell completes itself. */
export type Offer = { kind: 'words'; words: readonly Candidate[] } | { kind: 'file' | 'folder' };

/** Names that only the daemon knows. */
export type LookUp = (what: Completion) => Promise<readonly Candidate[]>;

/** What can come in the place of the last of the words, which may be empty or half a word. */
export async function complete(program: Program, words: readonly string[], lookUp: LookUp): Promise<Offer> {
  const current = words.at(-1) ?? '';
  const { path, command, positionals, awaiting, given, isRest } = readBefore(program, words.slice(0, -1));
  if (isRest) return { kind: 'file' }; // the server's own arguments, which are unknown
  if (awaiting !== undefined) return values(awaiting, current, '', lookUp);
  const [, name, typed] = /^--([^=]+)=(.*)$/.exec(current) ?? [];
  if (name !== undefined && typed !== undefined) {
    const flag = command && flagsOf(command).find((one) => one.name === name);
    return flag === undefined ? none : values(flag, typed, `--${name}=`, lookUp);
  }
  if (current.startsWith('-'))
    return matching(command === undefined ? [] : flagNames(command, given), current);
  const below = positionals.length === 0 ? subcommands(program, path) : [];
  const argument = command === undefined ? undefined : argumentAt(command, positionals.length);
  if (argument === undefined) return matching(below, current);
  const offer = await values(argument, current, '', lookUp);
  if (offer.kind !== 'words') return below.length === 0 ? offer : matching(below, current);
  const isTaken = (word: string): boolean =>
    positionals.includes(word) || below.some((one) => one.word === word);
  const fresh = offer.words.filter(({ word }) => !isTaken(word));
  return { kind: 'words', words: [...startingWith(below, current), ...fresh] };
}

interface Before {
  path: string;
  command: Command | undefined;
  positionals: string[];
  /** The flag whose value comes next. */
  awaiting: Flag | undefined;
  given: ReadonlySet<string>;
  isRest: boolean;
}

function readBefore(program: Program, words: readonly string[]): Before {
  let path = '';
  let awaiting: Flag | undefined;
  const positionals: string[] = [];
  const given = new Set<string>();
  const commandAt = (): Command | undefined => program.commands.find((command) => command.path === path);
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word === '--') return { path, command: commandAt(), positionals, awaiting, given, isRest: true };
    else if (word.startsWith('-')) {
      const [name = ''] = word.split('=');
      const flag = flagsOf(commandAt() ?? nothing).find(
        (one) => name === `--${one.name}` || name === `-${one.shorthand}`,
      );
      if (flag !== undefined) given.add(flag.name);
      if (flag !== undefined && flag.kind !== 'boolean' && !word.includes('=')) awaiting = flag;
    } else {
      const next = positionals.length === 0 ? stepFrom(path, word, program) : undefined;
      if (next === undefined) positionals.push(word);
      else path = next;
    }
  }
  return { path, command: commandAt(), positionals, awaiting, given, isRest: false };
}

/** Before the command name, only the common flags are possible. */
const nothing: Pick<Command, 'flags'> & Command = {
  path: '',
  summary: '',
  unformatted: 'no completion found',
  load: () => Promise.reject(new Error('no command')),
};

function argumentAt({ arguments: declared = [] }: Command, index: number): Argument | undefined {
  const last = declared.at(-1);
  return declared[index] ?? (last?.variadic === true ? last : undefined);
}

/** The commands that come next. */
function subcommands({ commands, groups }: Program, path: string): Candidate[] {
  const shown = commands.filter((command) => parentOf(command.path) === path && command.hidden !== true);
  const leading = groups.filter((group) => parentOf(group.path) === path);
  return [
    ...shown.map((command) => ({ word: namesOf(command)[0] ?? '', description: command.summary })),
    ...leading.map((group) => ({ word: group.path.slice(path.length).trim(), description: group.summary })),
  ].filter(({ word }, index, all) => all.findIndex((one) => one.word === word) === index);
}

/** The flags that can still be given. */
function flagNames(command: Command, given: ReadonlySet<string>): Candidate[] {
  return flagsOf(command)
    .filter(
      (flag) => isShown(flag) && (!given.has(flag.name) || flag.kind === 'list' || flag.kind === 'words'),
    )
    .map(({ name, description }) => ({ word: `--${name}`, description }));
}

/** The values of a flag or an argument. `before` precedes each value in the same word. */
async function values(
  { choices, completes }: Pick<Flag, 'choices' | 'completes'>,
  typed: string,
  before: string,
  lookUp: LookUp,
): Promise<Offer> {
  if (completes === 'file' || completes === 'folder') return { kind: completes };
  const known =
    choices?.map((word) => ({ word })) ?? (completes === undefined ? [] : await lookUp(completes));
  const offered = startingWith(known, typed).map((one) => ({ ...one, word: before + one.word }));
  return { kind: 'words', words: offered };
}

function matching(candidates: readonly Candidate[], typed: string): Offer {
  return { kind: 'words', words: startingWith(candidates, typed) };
}

function startingWith(candidates: readonly Candidate[], typed: string): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(typed));
}

const none: Offer = { kind: 'words', words: [] };
