import { resolve, win32 } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { readDockerRun } from './docker-run.ts';
import { readLocalPath } from './local-path.ts';
import { type OtherFlags, readOtherFlags } from './other-flags.ts';
import { packageImage } from './package-spec.ts';
import type { Pasted, PastedFrom } from './pasted.ts';

/** A program that starts servers. */
interface Launcher {
  /** The words with which its command lines begin. */
  words: readonly string[];
  /** The word after them, where only some mean a server. */
  next?: RegExp;
  /** Parses the words that follow. */
  read: (words: readonly string[], from: PastedFrom) => Pasted | Promise<Pasted>;
}

const launchers: readonly Launcher[] = [
  ...['npx', 'bunx', 'npm exec', 'npm x', 'pnpm dlx', 'yarn dlx', 'bun x'].map(launcher(readNpx)),
  ...['uvx', 'uv tool run', 'pipx run'].map(launcher(readUvx)),
  ...['docker run', 'docker container run', 'podman run', 'podman container run'].map(
    launcher(readDockerRun),
  ),
  ...['python -m', 'python3 -m'].map(launcher(readPythonModule)),
  ...['node', 'bun', 'tsx', 'deno run'].map(launcher(readLocalPath, /\.[cm]?[jt]s$/)),
  ...['python', 'python3'].map(launcher(readLocalPath, /\.py$/)),
  launcher(readUvRun)('uv run'),
  launcher(readUvDirectory, /^--(?:directory|project)(?:=|$)/)('uv'),
  launcher(readGoRun)('go run'),
];

function launcher(read: Launcher['read'], next?: RegExp): (words: string) => Launcher {
  return (words) => ({ words: words.split(' '), read, ...(next === undefined ? {} : { next }) });
}

/** Whether words are a command line that starts a server with another program. */
export function isCommandLine(words: readonly string[]): boolean {
  return launcherOf(withoutAssignments(words).words) !== undefined;
}

/** Translates a command line of another program. Throws `invalid`, if possible with the command to use instead. */
export async function readCommandLine(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { words, env } = withoutAssignments(all);
  const found = launcherOf(words);
  if (found === undefined) {
    throw invalid(`the program ${JSON.stringify(words[0] ?? '')} cannot be run in isolation`, {
      hint: 'use npx, uvx, go run, or docker run, or the URL of a remote server',
    });
  }
  const pasted = await found.read(words.slice(found.words.length), { ...from, env: { ...from.env, ...env } });
  return { ...pasted, request: { ...pasted.request, env_vars: { ...env, ...pasted.request.env_vars } } };
}

function launcherOf(words: readonly string[]): Launcher | undefined {
  // Windows: npx.cmd, C:\…\uvx.exe. The separator of other systems is one there, too.
  const program = win32.basename(words[0] ?? '').replace(/\.(cmd|exe)$/i, '');
  const normalized = [program, ...words.slice(1)];
  return launchers.find(
    ({ words: expected, next }) =>
      expected.every((word, index) => normalized[index] === word) &&
      (next === undefined || next.test(normalized[expected.length] ?? '')),
  );
}

/** Removes the parts for a shell: `env NAME=value`, `NAME=value`, and `cmd /c`. */
function withoutAssignments(all: readonly string[]): {
  words: readonly string[];
  env: Record<string, string>;
} {
  const env: Record<string, string> = {};
  let start = /^cmd(\.exe)?$/i.test(all[0] ?? '') && /^\/c$/i.test(all[1] ?? '') ? 2 : 0;
  if (all[start] === 'env') start += 1;
  for (; start < all.length; start += 1) {
    const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(all[start] ?? '') ?? [];
    if (name === undefined || value === undefined) break;
    env[name] = value;
  }
  return { words: all.slice(start), env };
}

function readNpx(all: readonly string[], from: PastedFrom): Pasted | Promise<Pasted> {
  const { given, words } = readOtherFlags('npx', all, {
    ...switches('-y', '--yes', '-q', '--quiet', '--silent', '--prefer-offline', '--prefer-online', '--bun'),
    '-p': 'value',
    '--package': 'value',
  });
  const packages = given.flatMap(([flag, value]) => (flag === '-p' || flag === '--package' ? [value] : []));
  if (packages.length > 1)
    throw invalid('npx --package is supported only once', { hint: "name the server's package" });
  return readPackage('npx', { from, words, named: packages[0] });
}

function readUvx(all: readonly string[], from: PastedFrom): Pasted | Promise<Pasted> {
  const { given, words } = readOtherFlags('uvx', all, {
    ...switches(
      '-q',
      '--quiet',
      '-n',
      '--no-cache',
      '--isolated',
      '--refresh',
      '-U',
      '--upgrade',
      '--native-tls',
    ),
    '--from': 'value',
    '--spec': 'value',
    '-w': 'value',
    '--with': 'value',
    '-p': 'value',
    '--python': 'value',
  });
  const named = valuesOf(given, '--from', '--spec').at(-1);
  return readPackage('uvx', { from, words, named, settings: pythonSettings(given) });
}

type PythonSettings = Pick<CreateWorkload, 'python_with' | 'python_version'>;

/** What the flags of uv say about packages and Python. */
function pythonSettings(given: OtherFlags['given']): PythonSettings {
  const others = valuesOf(given, '-w', '--with').flatMap(requirementsIn);
  const python = valuesOf(given, '-p', '--python').at(-1);
  return {
    ...(others.length === 0 ? {} : { python_with: others }),
    ...(python === undefined ? {} : { python_version: pythonVersion(python) }),
  };
}

const valuesOf = (given: OtherFlags['given'], ...flags: string[]): string[] =>
  given.flatMap(([flag, value]) => (flags.includes(flag) ? [value] : []));

/** uv separates requirements with commas, which also separate the version limits and the extras of one requirement. */
function requirementsIn(text: string): string[] {
  return text
    .split(/,(?=\s*[A-Za-z0-9])(?![^[]*\])/)
    .map((requirement) => requirement.trim())
    .filter((requirement) => requirement !== '');
}

/**
 * The version from the forms that uv and pipx accept: `3.12`, `python3.12`, `cpython@3.12`, or an interpreter's path.
 */
function pythonVersion(request: string): string {
  const version = /^(?:\S*\/)?(?:(?:c?python)[@-]?)?(\d+(?:\.\d+){0,2})$/.exec(request)?.[1];
  if (version !== undefined) return version;
  throw invalid(`${JSON.stringify(request)} is not a Python version`, {
    hint: 'use a version such as 3.12, for example --python 3.12',
  });
}

interface PackageCommand {
  from: PastedFrom;
  words: readonly string[];
  named: string | undefined;
  settings?: PythonSettings;
}

/** The first word is the package, or the program of the package that a flag names. */
function readPackage(
  scheme: 'npx' | 'uvx',
  { from, words, named, settings }: PackageCommand,
): Pasted | Promise<Pasted> {
  const [first, ...args] = words;
  const spec = named ?? first;
  if (spec === undefined) throw invalid(`the package for ${scheme} is missing`);
  if (isPath(spec) && !/^[a-z]{2,}[+:]/i.test(spec)) return readLocalPackage([spec, ...args], from, settings);
  const program = named === undefined ? undefined : first;
  return {
    request: { image: packageImage(scheme, spec, program), cmd_arguments: args, ...settings },
    notes: [],
  };
}

/** A module is mostly the program of the package with its name. */
function readPythonModule([module = '', ...args]: readonly string[]): Pasted {
  const name = module.split('.')[0]?.replaceAll('_', '-') ?? '';
  throw invalid(`python -m ${module} runs a module on this machine, which ToolHive does not install`, {
    hint: `if its package is ${name}, run thv run ${['uvx://' + name, ...(args.length > 0 ? ['--', ...args] : [])].join(' ')}`,
  });
}

/** `uv --directory DIR run …` */
function readUvDirectory(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const run = all.indexOf('run');
  if (run === -1) throw invalid('uv runs a server with uv run', { hint: 'use uv run, or uvx' });
  return readUvRun([...all.slice(0, run), ...all.slice(run + 1)], from);
}

function readUvRun(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('uv run', all, {
    ...switches('-q', '--quiet', '--isolated', '--frozen', '--no-project'),
    '--directory': 'value',
    '--project': 'value',
    '-w': 'value',
    '--with': 'value',
    '-p': 'value',
    '--python': 'value',
  });
  const directory = resolve(from.directory, valuesOf(given, '--directory').at(-1) ?? '.');
  const project = resolve(directory, valuesOf(given, '--project').at(-1) ?? '.');
  const [program = '', ...args] = words;
  const path = program.endsWith('.py') ? program : project;
  return readLocalPackage([path, ...args], { ...from, directory }, pythonSettings(given));
}

/** A path with its installation flags. */
async function readLocalPackage(
  words: readonly string[],
  from: PastedFrom,
  settings: PythonSettings = {},
): Promise<Pasted> {
  const { request, notes } = await readLocalPath(words, from);
  const python_with = [...(request.python_with ?? []), ...(settings.python_with ?? [])];
  const added = { ...settings, ...(python_with.length === 0 ? {} : { python_with }) };
  return { request: { ...request, ...added }, notes };
}

function readGoRun(all: readonly string[], from: PastedFrom): Pasted | Promise<Pasted> {
  const { words } = readOtherFlags('go run', all, switches('-v', '-x'));
  const [module, ...args] = words;
  if (module === undefined) throw invalid('the module for go run is missing');
  if (isPath(module)) return readLocalPath([module, ...args], from);
  return { request: { image: `go://${module}`, cmd_arguments: args }, notes: [] };
}

function switches(...names: string[]): Record<string, 'switch'> {
  return Object.fromEntries(names.map((name) => [name, 'switch']));
}

/** Whether a word is a path of this machine rather than a name. */
export function isPath(word: string): boolean {
  return (
    /^(\.{1,2}(\/|\\|$)|\/|~\/|[A-Za-z]:[\\/])/.test(word) || /\.(tgz|tar\.gz|whl|[cm]?js|ts|py)$/.test(word)
  );
}
