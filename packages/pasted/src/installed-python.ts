import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { Owner, Program } from './installed-owner.ts';
import { Contents, refuseUnpublished } from './installed-owner.ts';
import { packageImage } from './package-spec.ts';
import { programsOf } from './python-project.ts';

/** An installed distribution, with its metadata directory (PEP 376, PEP 427). */
interface Distribution {
  folder: string;
  name: string;
  version: string;
}

/** Where a distribution came from, unless it was a registry (PEP 610). */
const Origin = z.object({
  url: z.string(),
  vcs_info: z.object({ vcs: z.literal('git'), commit_id: z.string().regex(/^[0-9a-f]{40,64}$/) }).optional(),
  dir_info: z.object({}).optional(),
  subdirectory: z.string().optional(),
});

/** Finds the package whose program pip, uv, or pipx has installed. */
export async function pythonProgram({ path, real, beginning }: Program): Promise<Owner | undefined> {
  // The second form is for interpreters with long paths.
  const [, direct, indirect] =
    /^#![ \t]*(?:(\S*python[\w.]*)|\/bin\/sh\n'''exec' "?([^"\n]*python[\w.]*))/.exec(beginning) ?? [];
  const interpreter = direct ?? indirect;
  if (interpreter === undefined && !/^#![ \t]*\/usr\/bin\/env[ \t]+python/.test(beginning)) return undefined;
  const program = path.slice(path.lastIndexOf('/') + 1);
  const beside = [interpreter, real, path].filter((each) => each !== undefined);
  const contents = new Contents();
  const owner = distributionsOf(beside).find((each) =>
    hasProgram(contents.of(each.folder, 'entry_points.txt'), program),
  );
  return owner && ownerOf(owner, program, path);
}

/** Finds the package with a module that an interpreter can import. The source then runs `python`. */
export async function moduleOf(module: string, interpreter: string): Promise<Owner | undefined> {
  if (!/^\w+(?:\.\w+)*$/.test(module)) return undefined;
  const [top = ''] = module.split('.');
  const places = [interpreter, realpathSync(interpreter)];
  const contents = new Contents();
  const owner = distributionsOf(places).find((each) => hasModule(contents.of(each.folder, 'RECORD'), top));
  return owner && ownerOf(owner, 'python', `the module ${module}`);
}

/** What environments come with. */
const builtIn = new Set(['pip', 'setuptools', 'wheel']);
/** An environment with more is for several purposes. */
const maxRequested = 30;

/**
 * Returns the requirements that a user has installed into the virtual environment of an interpreter (`REQUESTED`, PEP 627),
 * without their dependencies. Empty for other interpreters, and for packages that are not from a registry.
 */
export function requestedIn(interpreter: string): string[] {
  if (!existsSync(join(dirname(dirname(interpreter)), 'pyvenv.cfg'))) return [];
  const requested = distributionsOf([interpreter]).filter(
    ({ folder, name }) => !builtIn.has(name) && existsSync(join(folder, 'REQUESTED')),
  );
  if (requested.length > maxRequested || requested.some(({ folder }) => originOf(folder) !== undefined))
    return [];
  return requested.map(({ name, version }) => `${name}==${version}`);
}

async function ownerOf(
  { folder, name, version }: Distribution,
  program: string,
  what: string,
): Promise<Owner> {
  const origin = originOf(folder);
  if (origin === undefined)
    return { image: packageImage('uvx', `${name}==${version}`, program), text: `${name} ${version}` };
  const { url, vcs_info: git, dir_info: directory, subdirectory } = origin;
  if (git !== undefined && url.startsWith('https://')) {
    const part = subdirectory === undefined ? '' : `#subdirectory=${subdirectory}`;
    const spec = `git+${url}@${git.commit_id}${part}`;
    return { image: packageImage('uvx', spec, program), text: `${name} ${version}` };
  }
  const place = directory === undefined ? undefined : await projectOf(url, program);
  if (place === undefined || program === 'python')
    refuseUnpublished(what, name, 'run its source: thv run DIRECTORY, or thv run with its Git repository');
  return { image: `uvx://${place}#program=${program}`, text: place };
}

/** Returns a project directory, unless the project does not have the program. */
async function projectOf(url: string, program: string): Promise<string | undefined> {
  const place = pathOf(url);
  if (place === undefined || !['pyproject.toml', 'setup.py'].some((file) => existsSync(join(place, file))))
    return undefined;
  const programs = await programsOf(place);
  return programs?.includes(program) === false ? undefined : place;
}

function pathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined; // not on this machine
  }
}

/** Whether `entry_points.txt` names a program. */
function hasProgram(entryPoints: string, program: string): boolean {
  let section = '';
  for (const line of entryPoints.split('\n').map((each) => each.trim())) {
    if (line.startsWith('[')) section = line;
    else if (section === '[console_scripts]' && line.split('=')[0]?.trim() === program) return true;
  }
  return false;
}

/** Whether `RECORD` names the module. */
function hasModule(record: string, module: string): boolean {
  return record
    .split('\n')
    .some((line) => line.startsWith(`${module}/__init__.py,`) || line.startsWith(`${module}.py,`));
}

function originOf(folder: string): z.infer<typeof Origin> | undefined {
  const text = new Contents().of(folder, 'direct_url.json');
  if (text === '') return undefined;
  try {
    return Origin.parse(JSON.parse(text));
  } catch {
    return { url: '' }; // from somewhere else than a registry
  }
}

/** The distributions that interpreters and programs with these paths use. */
function distributionsOf(paths: readonly string[]): Distribution[] {
  const prefixes = new Set(paths.map((path) => dirname(dirname(path))));
  const folders = [...prefixes].flatMap((prefix) => packageFolders(join(prefix, 'lib')));
  return folders.flatMap((folder) =>
    namesIn(folder).flatMap((name) => {
      const [, own, version] = /^([\w.]+)-([\w.!+]+)\.dist-info$/.exec(name) ?? [];
      return own === undefined || version === undefined
        ? []
        : [{ folder: join(folder, name), name: own.replaceAll('_', '-'), version }];
    }),
  );
}

function packageFolders(lib: string): string[] {
  return namesIn(lib)
    .filter((name) => /^python3(?:\.\d+)?$/.test(name))
    .flatMap((name) => ['site-packages', 'dist-packages'].map((part) => join(lib, name, part)));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no such directory
  }
}
