import type { Command as CommanderCommand, Option } from 'commander';
import { invalid } from '@toolhive/contract/failure';
import type { Command, Flag, FlagValues } from './command.ts';

/** A command line that was understood. */
export interface Invocation {
  command: Command;
  arguments: string[];
  flags: FlagValues;
  rest: string[];
}

/**
 * Understands what was typed. Undefined when that was a wish for help, which is printed; mistakes are thrown as
 * `invalid`.
 */
export async function understand(
  commands: readonly Command[],
  words: readonly string[],
): Promise<Invocation | undefined> {
  return understandBareName(commands, words) ?? parse(commands, words);
}

/** Understands the bare name of a command by itself: loading the parser takes longer than such a command does. */
function understandBareName(commands: readonly Command[], words: readonly string[]): Invocation | undefined {
  const typed = words.join('\0');
  const command = commands.find((candidate) => namesOf(candidate).includes(typed));
  if (command === undefined || command.arguments?.some(({ required }) => required) === true) return undefined;
  const presets = new Map(command.flags?.map((flag) => [flag.name, flag.default]));
  return { command, arguments: [], flags: valuesOf(command, (name) => presets.get(name)), rest: [] };
}

function namesOf({ path, aliases = [] }: Command): string[] {
  const words = path.split(' ');
  const name = words.pop() ?? '';
  return [name, ...aliases].map((last) => [...words, last].join('\0'));
}

async function parse(
  commands: readonly Command[],
  words: readonly string[],
): Promise<Invocation | undefined> {
  const { Command: Parser } = await import('commander');
  let invocation: Invocation | undefined;
  const program = buildProgram(new Parser('thv'), commands, (understood) => (invocation = understood));
  try {
    if (words.length === 0) program.outputHelp();
    else program.parse([...words], { from: 'user' });
  } catch (thrown) {
    if (!isParserError(thrown)) throw thrown;
    if (thrown.exitCode === 0) return undefined; // help was asked for, and printed
    throw invalid(mistakeOf(thrown.message), {
      hint: '`thv --help` lists the commands, `thv COMMAND --help` their flags',
    });
  }
  return invocation;
}

function isParserError(thrown: unknown): thrown is { exitCode: number; message: string } {
  return thrown instanceof Error && 'exitCode' in thrown;
}

/** The parser begins its sentences with `error:`; so do we. */
function mistakeOf(message: string): string {
  return message.replace(/^error: /, '').replace('(outputHelp)', 'a command is missing');
}

function buildProgram(
  program: CommanderCommand,
  commands: readonly Command[],
  invoke: (invocation: Invocation) => void,
): CommanderCommand {
  strict(program)
    .description('Runs MCP servers isolated, behind a proxy that speaks every revision of the protocol.')
    .showSuggestionAfterError()
    .helpCommand(true);
  for (const command of commands) addCommand(program, command, invoke);
  return program;
}

function addCommand(
  program: CommanderCommand,
  command: Command,
  invoke: (invocation: Invocation) => void,
): void {
  const words = command.path.split(' ');
  const name = words.pop() ?? '';
  const parent = words.reduce(groupOf, program);
  const own = parent.command(name, { hidden: command.hidden === true });
  strict(own)
    .summary(command.summary)
    .description(command.description ?? `${command.summary}.`)
    .aliases([...(command.aliases ?? [])]);
  for (const { name: label, description, required, variadic } of command.arguments ?? []) {
    const inner = variadic === true ? `${label}...` : label;
    own.addArgument(own.createArgument(required === true ? `<${inner}>` : `[${inner}]`, description));
  }
  for (const flag of command.flags ?? []) own.addOption(optionOf(own, flag));
  if (command.takesRest === true) own.usage(`${own.usage()} [-- ARGUMENTS...]`);
  if (command.examples !== undefined)
    own.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  $ ${line}\n`).join('')}`);
  own.action(() => {
    const declared = command.arguments?.length ?? 0;
    const isVariadic = command.arguments?.at(-1)?.variadic === true;
    const words = isVariadic ? own.args : own.args.slice(0, declared);
    const options: Record<string, unknown> = own.opts();
    invoke({
      command,
      arguments: words,
      flags: valuesOf(command, (name) => options[camelCase(name)]),
      rest: own.args.slice(words.length),
    });
  });
  if (command.takesRest === true) own.allowExcessArguments();
}

function groupOf(parent: CommanderCommand, name: string): CommanderCommand {
  return (
    parent.commands.find((known) => known.name() === name) ??
    strict(parent.command(name)).description(groups[name] ?? '')
  );
}

const groups: Record<string, string> = {
  runtime: 'Look at what servers can run in.',
};

/** Mistakes are thrown instead of ending the process; that is for `main` to do. */
function strict(command: CommanderCommand): CommanderCommand {
  return command
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .allowExcessArguments(false);
}

function optionOf(
  parser: CommanderCommand,
  { name, shorthand, kind, value, description, default: preset, choices, hidden }: Flag,
): Option {
  const names = shorthand === undefined ? `--${name}` : `-${shorthand}, --${name}`;
  const option = parser.createOption(
    kind === 'boolean' ? names : `${names} <${value ?? 'VALUE'}>`,
    description,
  );
  if (preset !== undefined) option.default(preset);
  if (choices !== undefined) option.choices(choices);
  if (hidden === true) option.hideHelp();
  if (kind === 'list') option.argParser((text, earlier: string[] | undefined) => [...(earlier ?? []), text]);
  if (kind === 'number') {
    option.argParser((text) => {
      if (!/^\d{1,9}$/.test(text)) throw invalid(`--${name} takes a number, not ${JSON.stringify(text)}`);
      return Number(text);
    });
  }
  return option;
}

/** How the parser calls the value of a flag. */
function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_match, letter: string) => letter.toUpperCase());
}

function valuesOf(command: Command, valueOf: (name: string) => unknown): FlagValues {
  const read = (name: string): unknown => {
    if (command.flags?.some((flag) => flag.name === name) !== true)
      throw new Error(`${command.path} has no flag ${name}`);
    return valueOf(name);
  };
  return {
    text: (name) => read(name) as string | undefined, // the value is what the kind of the flag says
    number: (name) => read(name) as number | undefined,
    list: (name) => (read(name) ?? []) as string[],
    has: (name) => read(name) === true,
  };
}
