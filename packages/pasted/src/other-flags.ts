import { invalid } from '@toolhive/contract/failure';

/** Whether a flag of another program takes a value, by the flag with its dashes. */
export type KnownFlags = Readonly<Record<string, 'switch' | 'value'>>;

export interface OtherFlags {
  /** The flags in order. Switches have an empty value. */
  given: (readonly [flag: string, value: string])[];
  /** The first word that is not a flag, and everything after it. */
  words: string[];
}

/**
 * Reads the flags before the first other word, as most programs do. Throws `invalid` for an unknown flag, unless the
 * flag matches `others`: these have a value only after an equals sign.
 */
export function readOtherFlags(
  program: string,
  all: readonly string[],
  known: KnownFlags,
  others?: RegExp,
): OtherFlags {
  const given: (readonly [string, string])[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const word = all[index] ?? '';
    if (word === '--') return { given, words: all.slice(index + 1) };
    if (!/^-./.test(word)) return { given, words: all.slice(index) };
    for (const [flag, attached] of flagsIn(word, known)) {
      const kind = Object.hasOwn(known, flag) ? known[flag] : undefined;
      if (kind === undefined && others?.test(flag) === true) {
        given.push([flag, attached ?? '']);
        continue;
      }
      if (kind === undefined) {
        throw invalid(`the flag ${flag} of ${program} is not supported`, {
          hint: `omit ${flag}, or use a flag of thv run before ${program}`,
        });
      }
      // A switch may be written as --flag=true.
      if (kind === 'switch' && attached !== 'false') given.push([flag, '']);
      if (kind === 'switch') continue;
      const value = attached ?? all[(index += 1)];
      if (value === undefined) throw invalid(`${flag} of ${program} needs a value`);
      given.push([flag, value]);
    }
  }
  return { given, words: [] };
}

/** The flags in one word: `--name=value`, `-nvalue`, or several switches as in `-it`. */
function flagsIn(word: string, known: KnownFlags): [flag: string, attached: string | undefined][] {
  if (word.startsWith('--') || Object.hasOwn(known, word)) {
    const equals = word.indexOf('=');
    return equals === -1 ? [[word, undefined]] : [[word.slice(0, equals), word.slice(equals + 1)]];
  }
  const flags: [string, string | undefined][] = [];
  for (let at = 1; at < word.length; at += 1) {
    const flag = `-${word[at]}`;
    const attached = word.slice(at + 1).replace(/^=/, '');
    // -i=true
    if (known[flag] === 'switch' && word[at + 1] === '=') return [...flags, [flag, word.slice(at + 2)]];
    if (known[flag] === 'value') return [...flags, [flag, attached === '' ? undefined : attached]];
    flags.push([flag, undefined]);
  }
  return flags;
}

export function switches(...names: string[]): Record<string, 'switch'> {
  return Object.fromEntries(names.map((name) => [name, 'switch']));
}

export function withValues(...names: string[]): Record<string, 'value'> {
  return Object.fromEntries(names.map((name) => [name, 'value']));
}

export function valuesOf(given: OtherFlags['given'], ...flags: string[]): string[] {
  return given.flatMap(([flag, value]) => (flags.includes(flag) ? [value] : []));
}
