import type { Client } from '@toolhive/contract/client';
import type { Out, OutputFormat } from './out.ts';

/** The complete command line interface: the commands, and the descriptions of command groups. */
export interface Program {
  commands: readonly Command[];
  groups: readonly CommandGroup[];
  /** Examples for new users. */
  examples?: readonly string[];
  /** Command lines of other versions. Loaded only for words that are unknown. */
  others?: () => Promise<OtherVersions>;
}

/** Commands and flags of other versions, and how to do the same here. */
export interface OtherVersions {
  /** Hints by the words of the command. */
  otherCommands: Readonly<Record<string, string>>;
  /** Hints by the command and the flag: `run --port`. */
  otherFlags: Readonly<Record<string, string>>;
}

/** A word that precedes other commands and does nothing alone: `config`, `config otel`. */
export interface CommandGroup {
  path: string;
  summary: string;
}

/**
 * A command, declared once. Its parser and its help derive from this declaration. It may also be the first word of
 * other commands.
 */
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
  /** Why the command lacks `--format`, or has a different one, phrased to follow "because". */
  unformatted?: string;
  /** Not shown in help, for internal use. */
  hidden?: boolean;
  /** Whether the words after `--` belong to the server. They arrive as `rest`. */
  takesRest?: boolean;
  /**
   * Whether words are a command line of another program. If the first argument begins one, all words from there on
   * arrive as `rest`, as if they followed `--`.
   */
  isOther?: (words: readonly string[]) => Promise<boolean>;
  /** A hint for arguments that are too many, if they show what the user wants. */
  excessHint?: (given: readonly string[]) => string | undefined;
  /** Whether arguments that are too many can be secrets. Errors do not repeat them. */
  hidesExcess?: boolean;
  /** Loads the implementation, only when the command runs. */
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
  /** The default value, in the flag's kind. A duration is written out. */
  default?: string | number | boolean | readonly string[];
  choices?: readonly string[];
  required?: boolean;
  hidden?: boolean;
  /** The heading in help, for commands with many flags. */
  section?: string;
  completes?: Completion;
}

/** Whether a flag appears in help, on its page, in completion, and in suggestions. */
export function isShown({ hidden }: Flag): boolean {
  return hidden !== true;
}

/**
 * How a value is parsed. `list` may occur several times. `words` may too, and each may contain several values,
 * separated by commas.
 */
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
  | 'kube-context'
  | 'file'
  | 'folder';

/** Runs a command. Exceptions are reported and determine the exit code. */
type Run = (call: CommandCall) => Promise<void>;

export interface CommandCall {
  arguments: readonly string[];
  flags: FlagValues;
  rest: readonly string[];
  out: Out;
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
  /** The daemon's API. Starts a background daemon if none is running. */
  client: () => Promise<Client>;
}

/** A flag's parsed value. For a duration, milliseconds. */
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
  /** Whether the user typed the flag, with any value. */
  isGiven(name: string): boolean;
  /** The names of all typed flags. */
  given(): string[];
}

/** What every command takes. */
export const globalFlags: readonly Flag[] = [
  {
    name: 'debug',
    kind: 'boolean',
    description: 'Show requests to the daemon and causes of failures on standard error',
  },
];

/** How to print the result. Every command has this flag unless it says why not. */
const format: Flag = {
  name: 'format',
  description: 'The output format',
  kind: 'string',
  value: 'FORMAT',
  choices: ['text', 'json'],
  default: 'text',
};

/** All flags of a command. */
export function flagsOf(command: Command): readonly Flag[] {
  return [...ownFlagsOf(command), ...globalFlags];
}

/** A command's own flags, without the common ones. */
export function ownFlagsOf({ flags = [], unformatted }: Command): readonly Flag[] {
  const isThere = unformatted !== undefined || flags.some(({ name }) => name === format.name);
  return isThere ? flags : [...flags, format];
}

/** The common format flag with additional formats. */
export function formatWith(...others: readonly string[]): Flag {
  return { ...format, choices: [...(format.choices ?? []), ...others] };
}

/** The audience of the output: everything except text is for programs. */
export function formatOf({ unformatted }: Command, flags: FlagValues): OutputFormat {
  return unformatted !== undefined || flags.text(format.name) === 'text' ? 'text' : 'json';
}

/** Everything that the last word of a command may be. */
export function namesOf({ path, aliases = [] }: Command): readonly string[] {
  return [path.slice(path.lastIndexOf(' ') + 1), ...aliases];
}
