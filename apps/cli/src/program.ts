import { Argument as CommanderArgument, Command as CommanderCommand, Option } from 'commander';
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
 * Makes a parser of the commands. `invoke` is called with what was typed; help is printed, and mistakes are
 * thrown as `invalid`.
 */
export function buildProgram(
  commands: readonly Command[],
  invoke: (invocation: Invocation) => void,
): CommanderCommand {
  const program = new CommanderCommand('thv')
    .description('Runs MCP servers isolated, behind a proxy that speaks every revision of the protocol.')
    .showSuggestionAfterError()
    .helpCommand(true);
  strict(program);
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
    own.addArgument(new CommanderArgument(required === true ? `<${inner}>` : `[${inner}]`, description));
  }
  for (const flag of command.flags ?? []) own.addOption(optionOf(flag));
  if (command.takesRest === true) own.usage(`${own.usage()} [-- ARGUMENTS...]`);
  if (command.examples !== undefined)
    own.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  $ ${line}\n`).join('')}`);
  own.action(() => {
    const declared = command.arguments?.length ?? 0;
    const isVariadic = command.arguments?.at(-1)?.variadic === true;
    const words = isVariadic ? own.args : own.args.slice(0, declared);
    invoke({
      command,
      arguments: words,
      flags: valuesOf(own.opts(), command),
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

function optionOf({
  name,
  shorthand,
  kind,
  value,
  description,
  default: preset,
  choices,
  hidden,
}: Flag): Option {
  const names = shorthand === undefined ? `--${name}` : `-${shorthand}, --${name}`;
  const option = new Option(kind === 'boolean' ? names : `${names} <${value ?? 'VALUE'}>`, description);
  if (preset !== undefined) option.default(preset);
  if (choices !== undefined) option.choices(choices);
  if (hidden === true) option.hideHelp();
  if (kind === 'list') option.argParser<string[]>((text, earlier = []) => [...earlier, text]);
  if (kind === 'number') {
    option.argParser((text) => {
      if (!/^\d{1,9}$/.test(text)) throw invalid(`--${name} takes a number, not ${JSON.stringify(text)}`);
      return Number(text);
    });
  }
  return option;
}

function valuesOf(options: Record<string, unknown>, command: Command): FlagValues {
  const read = (name: string): unknown => {
    if (command.flags?.some((flag) => flag.name === name) !== true)
      throw new Error(`${command.path} has no flag ${name}`);
    return options[name.replace(/-(\w)/g, (_match, letter: string) => letter.toUpperCase())];
  };
  return {
    text: (name) => read(name) as string | undefined, // commander gives what the kind of the flag says
    number: (name) => read(name) as number | undefined,
    list: (name) => (read(name) ?? []) as string[],
    has: (name) => read(name) === true,
  };
}
