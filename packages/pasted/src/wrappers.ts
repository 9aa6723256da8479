import { win32 } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { readOtherFlags, valuesOf, withValues } from './other-flags.ts';
import type { KnownFlags, OtherFlags } from './other-flags.ts';
import { withoutNode } from './scripts-elsewhere.ts';
import { isForShell } from './shell-command.ts';
import { wordsIn } from './words.ts';

/** A command without the programs that only start it. */
export interface Unwrapped {
  words: readonly string[];
  /** Variables that the outer programs set. */
  env: Record<string, string>;
  /** Files of variables that the outer programs read. Their values come before those in `env`. */
  files: string[];
  /** The directory to which an outer program changes. */
  directory?: string | undefined;
  notes: string[];
  /** An outer program that ToolHive cannot replace. */
  refusal?: Error;
}

/** The hint for secrets of another program. */
export const storeSecrets =
  'store each secret with thv secret set, and run the command after -- with --secret NAME,target=VARIABLE';

type Given = OtherFlags['given'];

/** A program that starts the command after its own words. */
interface Wrapper {
  flags?: KnownFlags;
  /** Flags whose value is the command in one text. */
  text?: readonly string[];
  /** Returns the number of words before the command. */
  skips?: (words: readonly string[]) => number;
  /** The words after which the command begins. */
  until?: readonly string[];
  /** Whether other words than flags can precede the command. By default, only tool versions can. */
  hasWords?: true;
  /** Returns the directory of the command. */
  directory?: (given: Given) => string | undefined;
  /** Returns the files of variables. */
  files?: (given: Given) => string[];
  /** Returns the assignments in flags. */
  env?: (given: Given) => string[];
  /** A note for the user. */
  note?: string;
  /** Why ToolHive cannot replace the program. */
  refuses?: string;
}

/** For a command that chooses a language version. */
export const chosenVersion = 'ToolHive chooses the version of Node.js or Python itself';
/** For a command with its own package manager. */
const noEnvironment = 'the server does not get the programs of the environment around it';
const dashes = ['--'];
const one = (): number => 1;

/** Programs that pass secrets to another one. */
const secretPrograms = [
  'op run',
  'doppler run',
  'infisical run',
  'chamber exec',
  'aws-vault exec',
  'teller run',
  'varlock run',
  'bws run',
  'phase run',
  'secretspec run',
  'fnox exec',
  'sops exec-env',
  'envchain',
];

/** By the words with which their command lines begin. */
const wrappers: Readonly<Record<string, Wrapper>> = {
  sudo: { flags: withValues('-u', '--user', '-g', '--group') },
  env: {
    flags: withValues('-u', '--unset', '-C', '--chdir'),
    text: ['-S', '--split-string'],
    directory: (given) => valuesOf(given, '-C', '--chdir').at(-1),
  },
  exec: { flags: withValues('-a') },
  nohup: {},
  time: {},
  setsid: {},
  unbuffer: {},
  doas: { flags: withValues('-u', '-C') },
  ionice: { flags: withValues('-c', '-n', '--class', '--classdata') },
  arch: {},
  'xvfb-run': {
    flags: withValues('-n', '--server-num', '-s', '--server-args', '-e', '--error-file', '-f', '-w'),
    note: 'xvfb-run has no effect: the server has no display',
  },
  'dbus-run-session': {},
  nice: { flags: withValues('-n', '--adjustment') },
  stdbuf: { flags: withValues('-i', '-o', '-e', '--input', '--output', '--error') },
  caffeinate: { flags: withValues('-t', '-w') },
  timeout: { flags: withValues('-k', '-s', '--kill-after', '--signal'), skips: one },
  wsl: { flags: withValues('-d', '--distribution', '-u', '--user', '--cd', '--shell-type') },

  'fnm exec': { flags: withValues('--using', '--fnm-dir'), note: chosenVersion },
  'nvm exec': {
    skips: ([first = '']) => (/^(?:v?\d[\d.]*|lts(?:\/.+)?|node|default)$/.test(first) ? 1 : 0),
    note: chosenVersion,
  },
  'volta run': { flags: withValues('--node', '--npm', '--yarn', '--pnpm'), note: chosenVersion },
  ...rows(['mise exec', 'mise x', 'rtx exec', 'rtx x'], {
    flags: withValues('-C', '--cd', '-c', '--command', '-j', '--jobs'),
    text: ['-c', '--command'],
    until: dashes,
    directory: (given) => valuesOf(given, '-C', '--cd').at(-1),
    note: chosenVersion,
  }),
  ...rows(['asdf exec', 'nodenv exec', 'pyenv exec', 'goenv exec', 'corepack'], { note: chosenVersion }),
  ...rows(['conda run', 'mamba run', 'micromamba run', 'pixi run'], {
    flags: withValues('-n', '--name', '-p', '--prefix', '--cwd', '-e', '--environment', '--manifest-path'),
    directory: (given) => valuesOf(given, '--cwd').at(-1),
    note: chosenVersion,
  }),
  ...rows(['nix develop', 'nix shell'], { until: ['-c', '--command'], note: noEnvironment }),
  'nix-shell': { text: ['--run', '--command'], until: dashes, hasWords: true, note: noEnvironment },
  'flox activate': { text: ['-c', '--command'], until: dashes, hasWords: true, note: noEnvironment },
  'guix shell': { until: dashes, note: noEnvironment },
  'devbox run': { flags: withValues('-c', '--config', '-e', '--env', '--env-file'), note: noEnvironment },
  'devenv shell': { note: noEnvironment },
  'direnv exec': {
    skips: one,
    note: 'the variables of .envrc are not set. Add those that the server needs with --env',
  },

  'cross-env': {},
  'cross-env-shell': {},
  ...rows(['dotenv', 'dotenv-cli'], {
    flags: withValues('-e', '-f', '--file', '-v', '-p'),
    files: (given) => filesOr('.env', valuesOf(given, '-e', '-f', '--file')),
    env: (given) => valuesOf(given, '-v'),
    skips: ([first]) => (first === 'run' ? 1 : 0),
  }),
  'env-cmd': {
    flags: withValues('-f', '--file', '-e', '--environments', '-r', '--rc-file'),
    files: (given) => filesOr('.env', valuesOf(given, '-f', '--file')),
  },
  'dotenvx run': {
    flags: withValues('-f', '--env-file', '-e', '--env'),
    files: (given) => filesOr('.env', valuesOf(given, '-f', '--env-file')),
    env: (given) => valuesOf(given, '-e', '--env'),
  },

  ...rows(secretPrograms, {
    text: ['--command'],
    flags: withValues('--env-file', '-p', '--project', '-c', '--config', '--env', '--path', '--account'),
    until: dashes,
    refuses: 'passes secrets that ToolHive does not read',
  }),
};

function rows(words: readonly string[], wrapper: Wrapper): Record<string, Wrapper> {
  return Object.fromEntries(words.map((word) => [word, wrapper]));
}

function filesOr(usual: string, given: readonly string[]): string[] {
  return given.length > 0 ? [...given] : [usual];
}

/** The limit of programs around a command. People write far fewer. */
const maxRounds = 20;

/** The npm packages whose program is one of them, where it has another name. */
const packages: Readonly<Record<string, string>> = {
  '@dotenvx/dotenvx': 'dotenvx',
};

/** The words of a program that an npm package contains and that starts another command, undefined for other commands. */
function packagedWrapper(words: readonly string[]): readonly string[] | undefined {
  if (!/^(?:npx|bunx|pnpx)$/.test(programOf(words))) return undefined;
  const at = words.findIndex((word, index) => index > 0 && !/^(?:-y|--yes|-q|--quiet|--)$/.test(word));
  const [, name = ''] = /^(@?[^@]+)/.exec(words[at] ?? '') ?? [];
  const program = Object.hasOwn(packages, name) ? packages[name] : name;
  const isKnown = /^(?:cross-env(?:-shell)?|dotenv(?:-cli)?|env-cmd|dotenvx)$/.test(program ?? '');
  return program !== undefined && isKnown ? [program, ...words.slice(at + 1)] : undefined;
}

/**
 * `npx -c "node server.js"` and `npm exec -c …` without a package run any command of a shell. With a package, the command
 * is one of its programs.
 */
function calledByNpm(words: readonly string[]): readonly string[] | undefined {
  const isNpm = programOf(words) === 'npm' && /^(?:exec|x)$/.test(words[1] ?? '');
  if (!isNpm && programOf(words) !== 'npx') return undefined;
  const rest = words.slice(isNpm ? 2 : 1);
  const at = rest.findIndex((word) => !/^(?:-y|--yes|-q|--quiet|--silent)$/.test(word));
  const [, attached] = /^--call=(.+)$/s.exec(rest[at] ?? '') ?? [];
  const isCall = attached !== undefined || /^(?:-c|--call)$/.test(rest[at] ?? '');
  const text = attached ?? rest[at + 1];
  const isWhole = rest.length === at + (attached === undefined ? 2 : 1);
  return isCall && isWhole && text !== undefined ? (wordsIn(text) ?? ['sh', '-c', text]) : undefined;
}

/** Removes the programs and the assignments that only start a command: `env NAME=value`, `cmd /c`, `fnm exec`. */
export function unwrap(all: readonly string[]): Unwrapped {
  const unwrapped: Unwrapped = { words: all, env: {}, files: [], notes: [] };
  for (let rounds = 0; rounds < maxRounds; rounds += 1) {
    takeAssignments(unwrapped);
    const { words } = unwrapped;
    const packaged = packagedWrapper(words);
    const found = findWrapper(packaged ?? words);
    const called = calledByNpm(words);
    if (called !== undefined) unwrapped.words = called;
    else if (programOf(words) === 'cmd' && /^\/[a-z]$/i.test(words[1] ?? ''))
      unwrapped.words = commandOfCmd(words.slice(1));
    else if (found !== undefined) peel(unwrapped, found);
    else break;
  }
  const words = withoutPythonLauncher(unwrapped.words);
  return { ...unwrapped, words: /^(?:node|nodejs|bun)$/.test(programOf(words)) ? withoutNode(words) : words };
}

function takeAssignments(unwrapped: Unwrapped): void {
  let taken = 0;
  for (const word of unwrapped.words) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(word) ?? [];
    if (name === undefined || value === undefined) break;
    unwrapped.env[name] = isForShell(value) ? `\${${name}}` : value;
    taken += 1;
  }
  unwrapped.words = unwrapped.words.slice(taken);
}

interface Found extends Wrapper {
  name: string;
  rest: readonly string[];
}

function findWrapper(given: readonly string[]): Found | undefined {
  const words = withDirectoryBehind(given);
  const program = programOf(words);
  const [, second = ''] = words;
  for (const name of [`${program} ${second}`, program]) {
    if (!Object.hasOwn(wrappers, name)) continue;
    return { ...wrappers[name], name, rest: words.slice(name === program ? 1 : 2) };
  }
  return undefined;
}

/** `mise -C DIR exec` is `mise exec -C DIR`. */
function withDirectoryBehind(words: readonly string[]): readonly string[] {
  const [program = '', flag = '', directory = '', verb = '', ...rest] = words;
  const isMoved =
    /^(?:mise|rtx)$/.test(programOf(words)) && /^(?:-C|--cd)$/.test(flag) && /^(?:x|exec)$/.test(verb);
  return isMoved ? [program, verb, flag, directory, ...rest] : words;
}

/**
 * The command that a flag contains, with the words behind it: `env -S "node server.js" --flag`. Only other flags and the
 * versions of tools can be in front of it. Behind a command, the same flag belongs to the server.
 */
function writtenIn({ name, rest, flags = {}, until, hasWords, text = [] }: Found): string[] | undefined {
  const end = endOf(rest, dashes);
  const at = rest.findIndex((word, index) => text.includes(word) && (end === 0 || index < end));
  if (at === -1) return undefined;
  const before = readOtherFlags(name, rest.slice(0, at), flags, /^-/).words;
  const isVersion = (word: string): boolean => until !== undefined && /^[\w.:/-]+@[\w.-]+$/.test(word);
  if (hasWords === undefined && !before.every(isVersion)) return undefined;
  const words = wordsIn(rest[at + 1] ?? '');
  return words === undefined ? undefined : [...words, ...rest.slice(at + 2)];
}

/** The number of words up to the first of these. */
function endOf(words: readonly string[], these: readonly string[]): number {
  return words.findIndex((word) => these.includes(word)) + 1;
}

function peel(unwrapped: Unwrapped, found: Found): void {
  const { name, rest, flags = {}, skips, until, ...wrapper } = found;
  // Words such as tool versions can precede the command.
  const end = until === undefined ? 0 : endOf(rest, until);
  const { given, ...read } = readOtherFlags(name, end === 0 ? rest : rest.slice(0, end - 1), flags, /^-/);
  const words = end === 0 ? read.words : rest.slice(end);
  const command = writtenIn(found) ?? (skips === undefined ? words : words.slice(skips(words)));
  unwrapped.words = command[0] === '--' ? command.slice(1) : command;
  unwrapped.files.push(...(wrapper.files?.(given) ?? []));
  unwrapped.directory = wrapper.directory?.(given) ?? unwrapped.directory;
  for (const text of wrapper.env?.(given) ?? []) {
    const [, variable, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    if (variable !== undefined && value !== undefined) unwrapped.env[variable] = value;
  }
  if (wrapper.note !== undefined && !unwrapped.notes.includes(wrapper.note))
    unwrapped.notes.push(wrapper.note);
  if (wrapper.refuses !== undefined)
    unwrapped.refusal ??= invalid(`${name} ${wrapper.refuses}`, { hint: storeSecrets });
}

/** The command after `cmd /c`, which can be one text, with the commands of a shell. */
function commandOfCmd(words: readonly string[]): readonly string[] {
  const rest = words.slice(words.findIndex((word) => !/^\/[a-z]$/i.test(word)));
  const [only = '', ...more] = rest;
  const text = rest.join(' ');
  if (text.includes('&&')) return ['sh', '-c', text];
  return more.length > 0 ? rest : (wordsIn(only) ?? rest);
}

/** `py -3 X` and `python -m uv X`: the version does not matter here, and the module is a program. */
function withoutPythonLauncher(all: readonly string[]): readonly string[] {
  const program = programOf(all);
  const words =
    program === 'py' && /^-[23](?:\.\d+)?(?:-\d+)?$/.test(all[1] ?? '') ? ['py', ...all.slice(2)] : all;
  const isModule = /^(?:python3?|py)$/.test(program) && words[1] === '-m';
  return isModule && /^(?:uv|pipx|poetry|pdm|hatch)$/.test(words[2] ?? '') ? words.slice(2) : words;
}

/** Windows: npx.cmd, npx.ps1, C:\…\uvx.exe. The separator of other systems is one there, too. python3.12: a version of python3. */
export function programOf([word = '']: readonly string[]): string {
  const name = win32
    .basename(word)
    .replace(/\.(?:cmd|exe|ps1|bat)$/i, '')
    .replace(/^(python3)\.\d+$/i, '$1');
  return anyCase.test(name) ? name.toLowerCase() : name;
}

/** Windows and macOS find them in any spelling: `NPX`, `Docker`, `PowerShell.exe`. */
const anyCase =
  /^(?:npx|npm|pnpm|yarn|bunx?|deno|node|tsx|uvx?|pipx|python3?|py|go|docker|podman|cmd|powershell|pwsh|wsl)$/i;
