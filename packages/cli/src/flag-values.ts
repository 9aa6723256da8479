import { invalid } from '@toolhive/contract/failure';
import { flagsOf } from './command.ts';
import type { Command, Flag, FlagKind, FlagValue, FlagValues } from './command.ts';
import { millisecondsOf } from './duration.ts';

/** The typed values of a command's flags, as text. `true` for a flag without a value. */
export type GivenFlags = ReadonlyMap<string, readonly (string | true)[]>;

/** Parses flag values by kind. Refuses invalid, missing, and mutually exclusive values. */
export function readFlags(command: Command, given: GivenFlags): FlagValues {
  const flags = flagsOf(command);
  const values = new Map<string, FlagValue | undefined>(flags.map((flag) => [flag.name, presetOf(flag)]));
  for (const flag of flags) {
    const texts = given.get(flag.name);
    if (texts !== undefined) values.set(flag.name, readValue(flag, texts));
    else if (flag.required === true) throw invalid(`--${flag.name} is missing`);
  }
  for (const names of command.exclusive ?? []) {
    const both = names.filter((name) => given.has(name)).map((name) => `--${name}`);
    if (both.length > 1) throw invalid(`${both.join(' and ')} cannot be used together`);
  }
  const read = (name: string): FlagValue | undefined => {
    if (!values.has(name)) throw new Error(`${command.path} has no flag ${name}`);
    return values.get(name);
  };
  return {
    value: read,
    text: (name) => read(name) as string | undefined, // the value has the flag's kind
    number: (name) => read(name) as number | undefined,
    milliseconds: (name) => read(name) as number | undefined,
    list: (name) => [...((read(name) ?? []) as readonly string[])],
    has: (name) => read(name) === true,
    isGiven: (name) => read(name) !== undefined && given.has(name),
    given: () => [...given.keys()],
  };
}

function presetOf({ kind, default: preset }: Flag): FlagValue | undefined {
  return kind === 'duration' && typeof preset === 'string' ? millisecondsOf(preset) : preset;
}

/** The last of several texts counts, where only one can. */
function readValue(flag: Flag, texts: readonly (string | true)[]): FlagValue {
  const words = texts.map((text) => (text === true ? 'true' : text));
  if (flag.kind === 'list') return words.map((word) => choiceOf(flag, word));
  if (flag.kind === 'words') {
    return words.flatMap((word) => word.split(',').map((part) => choiceOf(flag, part.trim())));
  }
  const word = words.at(-1) ?? '';
  const value = readers[flag.kind].read(word);
  if (value === undefined) throw wrongValue(flag, readers[flag.kind].what, word);
  return typeof value === 'string' ? choiceOf(flag, value) : value;
}

const readers: Record<
  Exclude<FlagKind, 'list' | 'words'>,
  { what: string; read: (text: string) => FlagValue | undefined }
> = {
  boolean: { what: 'true or false', read: booleanOf },
  string: { what: 'a text', read: (text) => text },
  integer: {
    what: 'a whole number',
    read: (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined),
  },
  number: {
    what: 'a number',
    read: (text) => (/^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined),
  },
  duration: { what: 'a duration such as 30s or 1m30s', read: millisecondsOf },
};

function booleanOf(text: string): boolean | undefined {
  if (/^(1|t|true)$/i.test(text)) return true;
  return /^(0|f|false)$/i.test(text) ? false : undefined;
}

function choiceOf(flag: Flag, text: string): string {
  if (flag.choices?.includes(text) === false) throw wrongValue(flag, flag.choices.join(', '), text);
  return text;
}

/** Repeats no free text: that might be a secret in the wrong place. */
function wrongValue({ name, kind }: Flag, what: string, text: string): Error {
  const isHarmless = text.length <= 32 && kind !== 'list';
  return invalid(`--${name} takes ${what}${isHarmless ? `, not ${JSON.stringify(text)}` : ''}`);
}
