import { win32 } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { programOf } from './wrappers.ts';

/** The programs that start servers in languages that ToolHive does not install from. */
const languages: readonly [language: string, programs: RegExp][] = [
  ['Rust', /^(?:cargo|rustup)$/],
  ['.NET', /^(?:dotnet|dnx)$/],
  ['Java', /^(?:java|jbang|mvnw?|gradlew?|kotlinc?|scala|sbt|clojure|clj|bb)$/],
  ['PHP', /^(?:php[\d.]*|composer)$/],
  ['Ruby', /^(?:ruby|bundle|bundler|gem|rake)$/],
  ['Swift', /^swift$/],
  ['Elixir', /^(?:elixir|mix)$/],
  ['Perl', /^(?:perl|cpanm?)$/],
  ['R', /^Rscript$/],
  ['Dart', /^dart$/],
  ['Lua', /^(?:lua|luajit)$/],
  ['Julia', /^julia$/],
  ['Nix', /^nix$/],
  ['WebAssembly', /^(?:wasmtime|wasmer|wasm-tools)$/],
];

/** Where the installers of such languages put programs. */
const places: readonly [language: string, place: RegExp][] = [
  ['Rust', /[\\/]\.cargo[\\/]bin[\\/][^\\/]+$/],
  ['.NET', /[\\/]\.dotnet[\\/]tools[\\/][^\\/]+$/],
  ['PHP', /[\\/]composer[\\/]vendor[\\/]bin[\\/][^\\/]+$/i],
  ['Ruby', /[\\/](?:\.gem|gems|\.rbenv)[\\/](?:[^\\/]+[\\/]){0,5}(?:bin|shims)[\\/][^\\/]+$/],
];

/** Whether a program starts others in a language that ToolHive does not install from. */
export function isOfOtherLanguage(words: readonly string[]): boolean {
  return languageOf(words) !== undefined;
}

/** The error for a program in such a language, with the forms of its server that do work. Undefined for others. */
export function otherLanguage(words: readonly string[]): Error | undefined {
  const language = languageOf(words);
  if (language === undefined) return undefined;
  return invalid(
    `the program ${JSON.stringify(words[0] ?? '')} cannot be run in isolation, because ToolHive does not install ${language} programs`,
    { hint: 'use a container image of the server, or the URL of a remote server' },
  );
}

function languageOf([word = '']: readonly string[]): string | undefined {
  const program = programOf([word]);
  const [language] =
    languages.find(([, programs]) => programs.test(program) || programs.test(program.toLowerCase())) ??
    places.find(([, place]) => place.test(word)) ??
    [];
  return language;
}

/** Where the installers of Windows put programs, with the form in which ToolHive runs the package. */
const windowsPlaces: readonly [place: RegExp, form: string][] = [
  [/[\\/](?:npm|nodejs|pnpm|node_modules[\\/]\.bin)[\\/][^\\/]+$/i, 'npx://'],
  [/[\\/](?:Scripts|\.local[\\/]bin)[\\/][^\\/]+$/i, 'uvx://'],
];

/**
 * The error for a program that is installed on Windows. Its name is a guess about its package, which another author can
 * have published, so that the user decides. Undefined for other words.
 */
export function windowsProgram([word = '']: readonly string[]): Error | undefined {
  if (!/^(?:[A-Za-z]:|%\w{1,40}%|\$env:\w{1,40})[\\/]/i.test(word)) return undefined;
  const name = win32.basename(word).replace(/\.(?:cmd|exe|bat|ps1)$/i, '');
  const [, form] = windowsPlaces.find(([place]) => place.test(word)) ?? [];
  return invalid(`${word} is a Windows program, which cannot be run in isolation`, {
    hint:
      form === undefined || !/^[\w.-]+$/.test(name)
        ? 'use its package, as with npx or uvx, a container image of it, or the URL of a remote server'
        : `if its package is ${name}, use ${form}${name}`,
  });
}
