import type { Client } from '@toolhive/contract/client';
import type { Out, OutputFormat } from './out.ts';

/** Everything that can be typed: the commands, and what is said of words that only lead to others. */
export interface Program {
  commands: readonly Command[];
  groups: readonly CommandGroup[];
  /** What somebody may begin with. */
  examples?: readonly string[];
}

/** A word that stands before others and does nothing by itself: `config`, `config otel`. */
export interface CommandGroup {
  path: string;
  summary: string;
}

/** A command, declared once: its parser and its help come from it. It may be the first word of others, too. */
export interface Command {
  /** What is typed, without `thv`: `run`, `runtime check`. */
  path: string;
  /** Other words for the last one of the path. */
  aliases?: readonly string[];
  summary: string;
  description?: string;
  arguments?: readonly Argument[];
  flags?: readonly Flag[];
  /** Names of flags of which only one may be given. */
  exclusive?: readonly (readonly string[])[];
  examples?: readonly string[];
  /** Why it has no `--format` like the others, or one of its own, as what follows "because". */
  unformatted?: string;
  /** Not shown in help; for the product's own use. */
  hidden?: boolean;
  /** What stands behind `--` is the server's, and comes as `rest`. */
  takesRest?: boolean;
  /**
   * Whether words are a command line of another program. If the first argument begins one, all words from there on
   * come as `rest`, as if they stood behind `--`.
   */
  isOther?: (words: readonly string[]) => Promise<boolean>;
  /** Loads what carries it out, only when it is carried out. */
  load: () => Promise<{ run: Run }>;
}

export interface Argument {
  name: string;
  description: string;
  required?: boolean;
  variadic?: boolean;
  choices?: readonly string[];
  completes?: Completion;
}

export interface Flag {
  /** `name`, and perhaps `shorthand`. */
  name: string;
  shorthand?: string;
  description: string;
  kind: FlagKind;
  /** How the value is called in help. */
  value?: string;
  /** What it is when it is not given, as the kind reads it; a duration is written out. */
  default?: string | number | boolean | readonly string[];
  choices?: readonly string[];
  required?: boolean;
  hidden?: boolean;
  /** Under which heading help shows it, where a command has many. */
  section?: string;
  completes?: Completion;
}

/** Whether a flag appears in help, on its page, in completion, and in suggestions. */
export function isShown({ hidden }: Flag): boolean {
  return hidden !== true;
}

/** How a value is read. `list` is given several times; `words` too, and may hold several with commas between. */
export type FlagKind = 'boolean' | 'string' | 'integer' | 'number' | 'duration' | 'list' | 'words';

/** What a shell offers in the place of a value. */
export type Completion =
  | 'workload'
  | 'group'
  | 'registry-server'
  | 'registry-group'
  | 'secret'
  | 'secrets-provider'
  | 'client'
  | 'file'
  | 'folder';

/** Carries a command out; what it throws is reported and decides the exit code. */
type Run = (call: CommandCall) => Promise<void>;

export interface CommandCall {
  arguments: readonly string[];
  flags: FlagValues;
  rest: readonly string[];
  out: Out;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** The daemon's API; starts a daemon in the background when there is none. */
  client: () => Promise<Client>;
}

/** The value of a flag, as its kind says; of a duration, the milliseconds. */
export type FlagValue = string | number | boolean | readonly string[];

/** The values of flags by their names, as their kinds say. */
export interface FlagValues {
  value(name: string): FlagValue | undefined;
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  /** A duration. */
  milliseconds(name: string): number | undefined;
  list(name: string): string[];
  has(name: string): boolean;
  /** Whether somebody typed it, whatever its value is. */
  isGiven(name: string): boolean;
  /** The names of all that somebody typed. */
  given(): string[];
}

/** What every command takes. */
export const globalFlags: readonly Flag[] = [
  {
    name: 'debug',
    kind: 'boolean',
    description: 'Tell on standard error what is asked of the daemon, and why something failed',
  },
];

/** How the result is printed. Every command takes it that does not say why not. */
const format: Flag = {
  name: 'format',
  description: 'How to print the result',
  kind: 'string',
  value: 'FORMAT',
  choices: ['text', 'json'],
  default: 'text',
};

/** All flags of a command. */
export function flagsOf(command: Command): readonly Flag[] {
  return [...ownFlagsOf(command), ...globalFlags];
}

/** The flags of a command, without those that every one has. */
export function ownFlagsOf({ flags = [], unformatted }: Command): readonly Flag[] {
  const isThere = unformatted !== undefined || flags.some(({ name }) => name === format.name);
  return isThere ? flags : [...flags, format];
}

/** The flag that all formatted commands share, for those that know more formats. */
export function formatWith(...others: readonly string[]): Flag {
  return { ...format, choices: [...(format.choices ?? []), ...others] };
}

/** For whom a command prints: whatever is not text is for programs. */
export function formatOf({ unformatted }: Command, flags: FlagValues): OutputFormat {
  return unformatted !== undefined || flags.text(format.name) === 'text' ? 'text' : 'json';
}

/** Everything that the last word of a command may be. */
export function namesOf({ path, aliases = [] }: Command): readonly string[] {
  return [path.slice(path.lastIndexOf(' ') + 1), ...aliases];
}
