import { invalid } from '@toolhive/contract/failure';
import { isPath, readLocalPath } from './local-path.ts';
import { readOtherFlags, switches, valuesOf, withValues } from './other-flags.ts';
import type { OtherFlags } from './other-flags.ts';
import { registryFlags, registryNotes } from './package-registries.ts';
import { packageImage } from './package-spec.ts';
import { absolutePath } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import { pythonSettings } from './python-settings.ts';
import type { PythonSettings } from './python-settings.ts';
import { javaScript, nodeScript, readEnvFiles, readTypeScript } from './script-launchers.ts';
import { isMcpRun, readMcpRun, uvFlags } from './uv-run.ts';
import { chosenVersion } from './wrappers.ts';
import { wordsIn } from './words.ts';

/** `npm exec NAME -- --flag`: npm removes the first dashes, which `npx` passes on. */
export function readNpmExec(all: readonly string[], from: PastedFrom): Pasted | Promise<Pasted> {
  return readNpx(withoutDashes(all), from);
}

/** The words without the first dashes. */
export function withoutDashes(words: readonly string[]): readonly string[] {
  const dashes = words.indexOf('--');
  return words.filter((_word, index) => index !== dashes);
}

/** Flags that change how npm installs and prints, and not the server. */
const npxFlags = {
  ...switches('-y', '--y', '--yes', '-q', '--quiet', '-s', '--silent', '-d', '--bun', '--verbose', '--force'),
  ...switches('--prefer-offline', '--prefer-online', '--offline', '--ignore-existing', '--legacy-peer-deps'),
  ...switches('--no-audit', '--no-fund', '--no-progress', '--progress', '--no-update-notifier'),
  ...switches(
    '--update-notifier',
    '--no-color',
    '--color',
    '--no-package-lock',
    '--no-save',
    '--no-optional',
  ),
  // ToolHive runs no scripts and checks every certificate.
  ...switches('--ignore-scripts', '--strict-ssl', '--no-strict-ssl'),
  ...withValues('-p', '--package', '--loglevel', '--reporter', '--cache', '-c', '--call'),
  ...withValues('--node-options', '--node-arg'),
  ...withValues('--include', '--omit', '--audit', '--fund', '--fetch-timeout', '--fetch-retries'),
  ...withValues('--allow-build', ...registryFlags),
};

/** Programs that run a script of this machine. Node.js reads TypeScript without help. */
const scriptPrograms = /^(?:tsx|ts-node|ts-node-esm|vite-node|esno|jiti|node)(?:@[^/]*)?$/;

export async function readNpx(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { given, words: others } = readOtherFlags('npx', all, npxFlags);
  const call = valuesOf(given, '-c', '--call').at(-1);
  const words = call === undefined ? others : (wordsIn(call) ?? [call, ...others]);
  const options = valuesOf(given, '--node-options', '--node-arg').join(' ');
  const env: Record<string, string> = options === '' ? {} : { NODE_OPTIONS: options };
  const { request, notes } = await readNpxWords(words, given, from);
  const env_vars = { ...env, ...request.env_vars };
  return { notes, request: { ...request, ...(Object.keys(env_vars).length === 0 ? {} : { env_vars }) } };
}

function readNpxWords(
  words: readonly string[],
  given: OtherFlags['given'],
  from: PastedFrom,
): Pasted | Promise<Pasted> {
  const [program = '', ...script] = words;
  const isScript = /^node(?:@|$)/.test(program) ? nodeScript : javaScript;
  if (scriptPrograms.test(program) && isScript(script[0] === 'watch' ? script.slice(1) : script))
    return readTypeScript(script, from);
  const all = valuesOf(given, '-p', '--package');
  // Node.js itself is a package, too.
  const packages = all.filter((name) => !/^(?:node|npm)(?:@[^/]*)?$/.test(name));
  if (packages.length > 1)
    throw invalid('npx --package is supported only once', { hint: "name the server's package" });
  const notes = [
    ...registryNotes(given),
    ...(packages.length < all.length ? [chosenVersion] : []),
    ...valuesOf(given, '--allow-build').map(
      (name) =>
        `the install scripts of ${name} do not run. If the server needs them, add --allow-scripts ${name}`,
    ),
  ];
  return readPackage('npx', { from, words, named: packages[0], notes });
}

export async function readUvx(all: readonly string[], outer: PastedFrom): Promise<Pasted> {
  const { given, words } = readOtherFlags('uvx', all, {
    ...uvFlags,
    ...withValues('--from', '--spec', '--env-file', '--backend'),
    ...switches('--fetch-missing-python', '-U', '--upgrade'),
  });
  const directory = valuesOf(given, '--directory').at(-1);
  const from = directory === undefined ? outer : { ...outer, directory: absolutePath(directory, outer) };
  const env = await readEnvFiles(valuesOf(given, '--env-file'), from);
  const named = valuesOf(given, '--from', '--spec').at(-1);
  const settings = await pythonSettings(given, from);
  const { request, notes } = isMcpRun(words)
    ? await readServedFile(words, { from, named, settings })
    : await readPackage('uvx', { from, words, named, settings, notes: registryNotes(given) });
  const env_vars = { ...env, ...request.env_vars };
  return { notes, request: { ...request, ...(Object.keys(env_vars).length === 0 ? {} : { env_vars }) } };
}

/** `uvx fastmcp run FILE`: the file is on this machine, and the package of the program can have limits. */
async function readServedFile(
  [program = '', , ...words]: readonly string[],
  { from, named, settings }: { from: PastedFrom; named: string | undefined; settings: PythonSettings },
): Promise<Pasted> {
  const { request, notes } = await readMcpRun(program, words, from);
  const others = [...(request.python_with ?? []), ...(settings.python_with ?? [])];
  const python_with = named === undefined || named === program ? others : [...others, named];
  return { notes, request: { ...request, ...settings, python_with: [...new Set(python_with)] } };
}

interface PackageCommand {
  from: PastedFrom;
  words: readonly string[];
  named: string | undefined;
  settings?: PythonSettings;
  notes: string[];
}

/** The first word is the package, or the program of the package that a flag names. */
function readPackage(
  scheme: 'npx' | 'uvx',
  { from, words, named, settings, notes }: PackageCommand,
): Pasted | Promise<Pasted> {
  const [first, ...args] = words;
  const spec = named ?? first;
  if (spec === undefined)
    throw invalid(`the package for ${scheme} is missing`, { hint: `add its name: ${scheme} NAME` });
  if (named === undefined) refuseVerb(scheme, words);
  // For Python, a slash belongs to a path, and only for npm to a repository.
  const isPlace = isPath(spec) || (scheme === 'uvx' && /^[\w.-]+(?:\/[\w.-]*)+$/.test(spec));
  if (isPlace && !/^[a-z]{2,}[+:]/i.test(spec)) {
    return readLocalPackage([spec, ...args], from, scheme, settings);
  }
  const program = named === undefined ? undefined : first;
  return {
    request: { image: packageImage(scheme, spec, program), cmd_arguments: args, ...settings },
    notes,
  };
}

/** The words of other commands, which `npx` and `uvx` take for the name of a package that anyone could publish. */
const verbs: ReadonlySet<string> = new Set(['run', 'tool', 'install', 'exec', 'dlx']);

/** `uvx run NAME` is a mix of `uv run` and `uvx`. */
function refuseVerb(scheme: string, words: readonly string[]): void {
  const start = words.findIndex((word) => !verbs.has(word));
  if (start < 1) return;
  const [taken, meant] = [words.slice(0, start).join(' '), words.slice(start).join(' ')];
  throw invalid(`${scheme} takes ${JSON.stringify(words[0])} for the name of the package`, {
    hint: `leave out ${JSON.stringify(taken)}: ${scheme} ${meant}`,
  });
}

/** A path with its installation flags. */
async function readLocalPackage(
  words: readonly string[],
  from: PastedFrom,
  scheme: 'npx' | 'uvx',
  settings: PythonSettings = {},
): Promise<Pasted> {
  const { request, notes } = await readLocalPath(words, from, scheme);
  const python_with = [...(request.python_with ?? []), ...(settings.python_with ?? [])];
  const added = { ...settings, ...(python_with.length === 0 ? {} : { python_with }) };
  return { request: { ...request, ...added }, notes };
}
