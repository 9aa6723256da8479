import { join, normalize } from 'node:path';
import { innerFile } from '@toolhive/bundles/template';
import { unsupported } from '@toolhive/contract/failure';
import { listedRequirements } from '@toolhive/contract/listed-requirements';
import { parse } from 'smol-toml';
import { field, readPackageFile } from './package-files.ts';

/** A command `uv run` in the manifest of a bundle. Paths are those in the bundle. */
interface UvRun {
  /** The arguments for Python, or for the program. */
  rest: string[];
  /** A program that a package installs. If absent, Python itself runs. */
  program?: string;
  /** The working directory. */
  directory: string;
  project: string;
  /** A script that may name its own dependencies. */
  script?: string;
  with: string[];
  requirements: string[];
  python?: string;
}

/** Options that concern uv's own environment, of which ToolHive makes another. */
const idle: ReadonlySet<string> = new Set([
  '--frozen',
  '--locked',
  '--no-dev',
  '--quiet',
  '-q',
  '--isolated',
  '--no-sync',
  '--offline',
  '--no-project',
  '--native-tls',
  '--no-progress',
  '--verbose',
  '-v',
  '--no-config',
  '--managed-python',
  '--active',
  '--',
  '-s',
  '--script',
]);

/** Reads a command of uv. Throws `unsupported` for a word that would do something else than start a server. */
export function readUvRun(bundle: string, words: readonly string[]): UvRun {
  const run: UvRun = { rest: [], directory: '', project: '', with: [], requirements: [] };
  const left = [...words];
  let isRun = false;
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [option = '', joined] = word.split(/=(.*)/s);
    const value = (): string => joined ?? left.shift() ?? '';
    if (word === 'run' && !isRun) isRun = true;
    else if (option === '--directory') run.directory = run.project = folderIn(bundle, value());
    else if (option === '--project') run.project = folderIn(bundle, value());
    else if (option === '--with') run.with.push(...requirementsIn(bundle, value()));
    else if (option === '--with-requirements') run.requirements.push(fileIn(bundle, value(), run.directory));
    else if (option === '--python' || option === '-p') run.python = pythonOf(bundle, value());
    else if (idle.has(word)) continue;
    else if (!isRun) throw refused(bundle, word);
    else return { ...run, ...started(bundle, word, left, run.directory) };
  }
  throw refused(bundle, 'run');
}

function started(
  bundle: string,
  word: string,
  left: readonly string[],
  directory: string,
): Pick<UvRun, 'rest' | 'program' | 'script'> {
  if (word === '-m' || word === '--module') return { rest: ['-m', ...left] };
  if (/^python(?:3(?:\.\d+)?)?$/.test(word)) return { rest: [...left] };
  if (/\.pyw?$/.test(word)) return { rest: [word, ...left], script: fileIn(bundle, word, directory) };
  if (/^[A-Za-z0-9][\w.-]*$/.test(word)) return { rest: [...left], program: word };
  throw refused(bundle, word);
}

function requirementsIn(bundle: string, text: string): string[] {
  const requirements = listedRequirements(text).map((one) => one.replaceAll(/\s+/g, ''));
  const wrong = requirements.find((one) => !requirement.test(one));
  if (wrong !== undefined) throw refused(bundle, wrong);
  return requirements;
}

function folderIn(bundle: string, text: string): string {
  return /^(?:\$\{__dirname\}|\.)?\/?$/.test(text) ? '' : fileIn(bundle, text, '');
}

function fileIn(bundle: string, text: string, directory: string): string {
  const inner = innerFile(text);
  if (inner === undefined) throw refused(bundle, text);
  return normalize(text.startsWith('${__dirname}') ? inner : join(directory, inner));
}

function pythonOf(bundle: string, text: string): string {
  const [, version] = /^(?:python|cpython-?)?(3(?:\.\d+){0,2})$/.exec(text) ?? [];
  if (version === undefined) throw refused(bundle, text);
  return version;
}

const refused = (bundle: string, word: string): Error =>
  unsupported(
    `the bundle ${bundle} starts uv with ${JSON.stringify(word.slice(0, 100))}, which ToolHive does not support`,
    {
      hint: 'a bundle can start uv run with a script, -m MODULE, or a program, and with the options --directory, --project, --with, and --python',
    },
  );

/** What a command of uv needs of the package index. */
interface Project {
  requiresPython?: string;
  /** The arguments for `uv pip install`, with the folder of the bundle in the sandbox. */
  needed: (bundle: string) => string[];
}

const requirement =
  /^[A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?(?:(?:[<>=!~]=?|===)[\w.*+!-]+(?:,(?:[<>=!~]=?|===)[\w.*+!-]+)*)?$/;
const SCRIPT_LIMIT = 256 * 1024;

/** Reads the project of a command. A project with a build system is a package, which is installed, too. */
export async function projectIn(folder: string, run: UvRun): Promise<Project> {
  const { script, project, with: others, requirements } = run;
  const beginning = script === undefined ? undefined : await readPackageFile(folder, script, SCRIPT_LIMIT);
  const hasMetadata = /^# \/\/\/ script\s*$/m.test(beginning?.toString() ?? '');
  const file = join(project, 'pyproject.toml');
  const described = hasMetadata ? undefined : readToml((await readPackageFile(folder, file))?.toString());
  const requiresPython = field(field(described, 'project'), 'requires-python');
  const isPackage = field(described, 'build-system') !== undefined;
  return {
    ...(typeof requiresPython === 'string' ? { requiresPython } : {}),
    needed: (bundle) => [
      ...(hasMetadata ? ['-r', join(bundle, script ?? '')] : []),
      ...(described === undefined ? [] : isPackage ? [join(bundle, project)] : ['-r', join(bundle, file)]),
      ...requirements.flatMap((path) => ['-r', join(bundle, path)]),
      ...others,
    ],
  };
}

function readToml(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch {
    return {}; // uv says what is wrong
  }
}
