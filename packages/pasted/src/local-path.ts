import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { ThvError, invalid, notFound } from '@toolhive/contract/failure';
import * as z from 'zod';
import { readProjectFile } from './project-file.ts';
import { readInstalledAt } from './installed-program.ts';
import { requestedIn } from './installed-python.ts';
import { absolutePath, isOutside } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import { requirementsIn } from './requirements-file.ts';

/** Whether a word is a path of this machine rather than a name. */
export function isPath(word: string): boolean {
  return (
    /^(\.{1,2}(\/|\\|$)|\/|~\/|\$HOME\/|[A-Za-z]:[\\/])/.test(word) ||
    /\.(tgz|tar\.gz|whl|[cm]?js|tsx?|[cm]ts|py)$/.test(word)
  );
}

/**
 * Converts the path of a directory, script, wheel, or archive on this machine. Throws if the path is not a server. The
 * scheme is that of the program in the command, because a directory can belong to several.
 */
export async function readLocalPath(
  [word = '', ...args]: readonly string[],
  from: Pick<PastedFrom, 'directory' | 'program'>,
  scheme?: LocalScheme,
): Promise<Pasted> {
  const path = absolutePath(word, from);
  if (!existsSync(path))
    throw notFound(`${path} not found`, {
      hint: /[\\/](?:dist|build|out|target)[\\/]/.test(path)
        ? afterBuild
        : 'check the path, or use a published package',
    });
  const isDirectory = statSync(path).isDirectory();
  const isOther =
    !isDirectory && scheme === undefined && (path.includes('/node_modules/') || !isPath(basename(path)));
  const installed = isOther ? await readInstalledAt([path, ...args]) : undefined;
  if (installed !== undefined) return installed;
  const {
    image,
    notes = [],
    ...settings
  } = isDirectory ? readDirectory(path, scheme) : await readFile(path, from, scheme);
  return { request: { image, cmd_arguments: args, ...settings }, notes };
}

/**
 * The file that Node.js starts for a path: a package directory's main file, and a script without its file extension.
 * Other paths stay as they are.
 */
export function mainOf(word: string, from: Pick<PastedFrom, 'directory'>): string {
  if (/\.[cm]?[jt]sx?$/.test(word)) return word;
  const path = absolutePath(word, from);
  if (!existsSync(path)) return existsSync(`${path}.js`) ? `${path}.js` : word;
  if (!statSync(path).isDirectory()) return word;
  const main = resolve(path, manifestOf(join(path, 'package.json'))?.main ?? 'index.js');
  const isOther = main !== path && isOutside(path, main);
  const found = isOther
    ? undefined
    : [main, `${main}.js`, join(main, 'index.js')].find((file) => isFile(file));
  if (found !== undefined && !isOutside(realpathSync(path), realpathSync(found))) return found;
  if (isOther || found !== undefined) {
    // A package must not choose which other directory its server gets.
    throw invalid(`the main file of ${path} is outside of it`, { hint: 'run that file: node FILE' });
  }
  throw notFound(`${path} has no main file ${main}`, { hint: afterBuild });
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

const afterBuild = 'build the project, check the path, or use a published package';

type LocalScheme = 'npx' | 'uvx' | 'go';

interface Local {
  image: string;
  python_with?: string[];
  notes?: string[];
}

const manifests: [file: string, scheme: LocalScheme][] = [
  ['go.mod', 'go'],
  ['package.json', 'npx'],
  ['pyproject.toml', 'uvx'],
  ['setup.py', 'uvx'],
];

function readDirectory(path: string, scheme?: LocalScheme): Local {
  if (scheme !== undefined) return { image: `${scheme}://${path}` };
  const [found, ...others] = manifests.filter(([file]) => existsSync(join(path, file)));
  if (found === undefined) {
    throw invalid(`${path} has no package.json, pyproject.toml, or go.mod`, {
      hint: 'specify the package directory, or the script to run',
    });
  }
  const other = others.find(([, its]) => its !== found[1]);
  const notes =
    other === undefined
      ? []
      : [`${path} has a ${found[0]} and a ${other[0]}. To run the ${other[0]}, use ${other[1]}://${path}`];
  return { image: `${found[1]}://${path}`, notes };
}

async function readFile(
  path: string,
  from: Pick<PastedFrom, 'directory' | 'program'>,
  scheme?: LocalScheme,
): Promise<Local> {
  if (scheme !== undefined) return { image: `${scheme}://${path}` };
  if (/\.[cm]?[jt]s$/.test(path)) return readNodeScript(path);
  if (path.endsWith('.py')) return readPythonScript(path, from);
  if (/\.(?:tgz|tar\.gz)$/.test(path)) return { image: `npx://${path}` };
  if (path.endsWith('.whl')) return { image: `uvx://${path}` };
  if (/(?:^|[.-])fastmcp\.json$/.test(basename(path))) {
    throw invalid(`${path} is a FastMCP project file`, {
      hint: `to run its server, use thv run -- fastmcp run ${path}`,
    });
  }
  const unnamed = unnamedScript(path);
  if (unnamed !== undefined) throw unnamed;
  throw invalid(`${path} is not a server that ToolHive can run`, {
    hint: 'use a directory with a package.json, pyproject.toml, or go.mod, a script (.js, .py), a wheel, or a .tgz archive',
  });
}

/** The error for a script without the file extension that names its language. Undefined for other files. */
export function unnamedScript(path: string): Error | undefined {
  const extension = extensionOf(path);
  if (extension === undefined) return undefined;
  return invalid(`${path} is a script without the file extension that names its language`, {
    hint: `rename the file to ${basename(path)}${extension}`,
  });
}

/** The file extension for a script whose first line names its language: `#!/usr/bin/env -S uv run --script`. */
function extensionOf(path: string): string | undefined {
  const text = textOf(path);
  const [line = ''] = text.split('\n', 1);
  // Others are programs of an installation: #!/home/me/.venv/bin/python
  if (!/^#!\s*(?:\/usr(?:\/local)?|\/opt\/homebrew)?\/bin\//.test(line)) return undefined;
  if (/\b(?:python[\d.]*|uv|pipx)\b/.test(line)) return '.py';
  if (/\b(?:tsx|ts-node|deno|bun)\b/.test(line)) return '.ts';
  if (!/\b(?:node|nodejs)\b/.test(line)) return undefined;
  return /^(?:import|export)\b/m.test(text) || !/\brequire\(/.test(text) ? '.mjs' : '.cjs';
}

function textOf(path: string): string {
  try {
    return readProjectFile(path);
  } catch {
    return ''; // too large for a script
  }
}

const Dependencies = z.record(z.string(), z.string()).optional().catch(undefined);
const Manifest = z.object({
  bin: z
    .union([z.string(), z.record(z.string(), z.string())])
    .optional()
    .catch(undefined),
  main: z.string().optional().catch(undefined),
  dependencies: Dependencies,
});

/** A script that is its package's program needs that package. */
function readNodeScript(path: string): Local {
  const around = ancestorWith('package.json', path);
  const manifest = around === undefined ? undefined : manifestOf(join(around, 'package.json'));
  if (around === undefined || manifest === undefined) return { image: `npx://${path}` };
  const { bin, main = 'index.js', dependencies = {} } = manifest;
  const [program = main, ...others] = typeof bin === 'string' ? [bin] : Object.values(bin ?? {});
  if (others.length === 0 && resolve(around, program) === path) return { image: `npx://${around}` };
  if (Object.keys(dependencies).length === 0) return { image: `npx://${path}` };
  const note = `the script runs without the dependencies of ${around}. If it needs them, name it as "main" in package.json, and run thv run ${around}`;
  return { image: `npx://${path}`, notes: [note] };
}

const Scripts = z.object({ scripts: z.record(z.string(), z.string()) });

/** The command of a script in the package of a directory. */
export function scriptIn(directory: string, name: string): string {
  const path = join(directory, 'package.json');
  if (!existsSync(path)) throw notFound(`${path} not found`, { hint: 'check the directory of the package' });
  const manifest = jsonOf(path);
  const scripts = Scripts.safeParse(manifest).data?.scripts ?? {};
  const command = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
  if (command !== undefined) return command;
  const names = Object.keys(scripts);
  throw notFound(`${path} has no script ${name}`, {
    hint: names.length === 0 ? 'the package has no scripts' : `the scripts are ${names.join(', ')}`,
  });
}

function jsonOf(path: string): unknown {
  try {
    return JSON.parse(readProjectFile(path)) as unknown;
  } catch {
    throw invalid(`${path} is not JSON`);
  }
}

function manifestOf(path: string): z.infer<typeof Manifest> | undefined {
  try {
    return Manifest.parse(JSON.parse(readProjectFile(path)));
  } catch {
    return undefined; // the file does not mention the script
  }
}

const Project = z.object({ project: z.object({ dependencies: z.array(z.string()) }) });

/**
 * A script runs with the dependencies of its project, as with `uv run`, or else with the packages in the
 * `requirements.txt` of its directory or of the virtual environment that starts it, unless it names its packages itself
 * (PEP 723).
 */
async function readPythonScript(
  path: string,
  from: Pick<PastedFrom, 'directory' | 'program'>,
): Promise<Local> {
  const image = `uvx://${path}`;
  const around = ancestorWith('pyproject.toml', path);
  const python_with = around === undefined ? [] : await dependenciesIn(join(around, 'pyproject.toml'));
  if (python_with.length > 0) return { image, python_with };
  const file = join(dirname(path), 'requirements.txt');
  if (/^# \/\/\/ script\s*$/m.test(readProjectFile(path))) return { image };
  if (!existsSync(file)) return { image, ...packagesOfEnvironment(from) };
  const read = requirementsBeside(file);
  if (read === undefined)
    return {
      image,
      notes: [`the packages in ${file} are not installed, because they come from another registry`],
    };
  const { requirements, others } = read;
  if (requirements.length === 0) return { image };
  const left =
    others.length === 0 ? '' : `, without ${others.length === 1 ? 'line' : 'lines'} ${others.join(', ')}`;
  return {
    image,
    python_with: requirements,
    notes: [`the packages in ${file} are installed${left}`],
  };
}

/** Returns the packages in the virtual environment whose interpreter the command names. */
function packagesOfEnvironment(from: Pick<PastedFrom, 'directory' | 'program'>): Omit<Local, 'image'> {
  const { program = '' } = from;
  const python_with = program.includes('/') ? requestedIn(absolutePath(program, from)) : [];
  if (python_with.length === 0) return {};
  return {
    python_with,
    notes: [`as in its environment, these packages are installed: ${python_with.join(', ')}`],
  };
}

/** Undefined for packages of another registry, without which the script may still run. */
function requirementsBeside(file: string): ReturnType<typeof requirementsIn> | undefined {
  try {
    return requirementsIn(readProjectFile(file));
  } catch (thrown) {
    if (thrown instanceof ThvError) return undefined;
    throw thrown;
  }
}

async function dependenciesIn(file: string): Promise<string[]> {
  const { parse } = await import('smol-toml');
  const project = Project.safeParse(parse(readProjectFile(file)));
  return project.data?.project.dependencies ?? [];
}

/** The nearest parent directory with the file. Directories above the home directory belong to other projects. */
function ancestorWith(file: string, from: string): string | undefined {
  const above = dirname(from);
  if (above === from || above === homedir()) return undefined;
  return existsSync(join(above, file)) ? above : ancestorWith(file, above);
}
