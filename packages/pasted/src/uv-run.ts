import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { isPath, readLocalPath } from './local-path.ts';
import { asWorkloadName } from './entry-names.ts';
import { readOtherFlags, switches, valuesOf, withValues } from './other-flags.ts';
import type { OtherFlags } from './other-flags.ts';
import { packageImage } from './package-spec.ts';
import { readFastMcpFile } from './fastmcp-file.ts';
import { absolutePath } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';
import { readProjectFile } from './project-file.ts';
import { registryFlags, registryNotes } from './package-registries.ts';
import { choicesIn, programsOf, requirementsOf } from './python-project.ts';
import { pythonSettings, requirementName, sameName } from './python-settings.ts';
import type { PythonSettings } from './python-settings.ts';
import { readEnvFiles, readPython, servedFile } from './script-launchers.ts';

/** `uv [FLAGS] run [FLAGS] PROGRAM`. */
export async function readUv(all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const before = readOtherFlags('uv', all, uvFlags);
  const [command, ...rest] = before.words;
  if (command !== 'run') {
    throw invalid(`uv ${command ?? ''}`.trim() + ' does not start a server', { hint: 'use uv run, or uvx' });
  }
  const { given, words } = readOtherFlags('uv run', rest, { ...uvFlags, ...runFlags });
  return readUvRun([...before.given, ...given], words, from);
}

/** Flags of uv before and behind its commands. Most change how uv installs, and not the server. */
export const uvFlags = {
  ...switches('-q', '--quiet', '-v', '--verbose', '-n', '--no-cache', '--no-progress', '--native-tls'),
  ...switches('--system-certs', '--offline', '--no-config', '--managed-python', '--no-managed-python'),
  ...switches('--no-python-downloads', '--isolated', '--pre', '--refresh', '--reinstall', '--no-env-file'),
  ...switches('--no-build', '--no-binary', '--no-build-isolation', '--no-sources', '--compile-bytecode'),
  ...withValues('--directory', '--project', '--color', '--cache-dir', '--config-file', '--python-preference'),
  ...withValues('-w', '--with', '--with-requirements', '-p', '--python', '--exclude-newer', '--prerelease'),
  ...withValues('--link-mode', '--refresh-package', '--reinstall-package', '-P', '--upgrade-package'),
  ...withValues('--no-build-package', '--no-binary-package', '--keyring-provider', '--index-strategy'),
  ...withValues(...registryFlags),
};
const runFlags = {
  ...switches('--frozen', '--locked', '--no-sync', '--no-project', '--active', '--exact', '--no-editable'),
  ...switches('--inexact', '--all-packages', '--gui-script', '-s', '--script', '-m', '--module'),
  ...switches('-U', '--upgrade', '--dev', '--no-dev', '--no-default-groups', '--all-extras', '--all-groups'),
  ...withValues('--env-file', '--extra', '--no-extra', '--group', '--no-group'),
};

const projectFlags = {
  ...switches(
    '-q',
    '--quiet',
    '-v',
    '--verbose',
    '-n',
    '--no-interaction',
    '--no-ansi',
    '-s',
    '--site-packages',
  ),
  ...withValues('-C', '--directory', '-P', '-p', '--project', '-e', '--env'),
};

/** `poetry -C DIR run PROGRAM`, `pdm run -p DIR PROGRAM`, and other tools for such projects. */
export function readProjectTool(tool: string): (all: readonly string[], from: PastedFrom) => Promise<Pasted> {
  return (all, from) => {
    const before = readOtherFlags(tool, all, projectFlags);
    const behind = readOtherFlags(`${tool} run`, before.words.slice(1), projectFlags);
    const given = [...before.given, ...behind.given];
    const directories = valuesOf(given, '-C', '--directory').flatMap((value) => ['--directory', value]);
    const projects = valuesOf(given, '-P', '-p', '--project').flatMap((value) => ['--project', value]);
    return readUv(['run', ...directories, ...projects, '--', ...behind.words], from);
  };
}

async function readUvRun(
  given: readonly (readonly [string, string])[],
  words: readonly string[],
  outer: PastedFrom,
): Promise<Pasted> {
  const directory = valuesOf([...given], '--directory').at(-1);
  const from = directory === undefined ? outer : { ...outer, directory: absolutePath(directory, outer) };
  const settings = await pythonSettings([...given], from);
  const env = await readEnvFiles(valuesOf([...given], '--env-file'), from);
  const isModule = given.some(([flag]) => flag === '-m' || flag === '--module');
  const { source, ...found } = await readProgram(
    isModule ? ['python', '-m', ...words] : words,
    given,
    settings,
    from,
  );
  const { python_with: given_with = [], ...chosen } = settings;
  const others = (given_with ?? []).filter((requirement) => requirement !== source);
  const project = valuesOf([...given], '--project').at(-1);
  const chosenParts = await requirementsOf(placeOf(project, from), choicesIn([...given]));
  const python_with = [...(found.request.python_with ?? []), ...chosenParts, ...others];
  const env_vars = { ...env, ...found.request.env_vars };
  return {
    notes: [...registryNotes([...given]), ...found.notes],
    request: {
      ...found.request,
      ...(Object.keys(env_vars).length === 0 ? {} : { env_vars }),
      ...chosen,
      ...(python_with.length === 0 ? {} : { python_with: [...new Set(python_with)] }),
    },
  };
}

async function readProgram(
  [program = '', ...args]: readonly string[],
  given: readonly (readonly [string, string])[],
  settings: PythonSettings,
  from: PastedFrom,
): Promise<Pasted & { source?: string }> {
  if (program === '') throw invalid('the program for uv run is missing');
  if (/^https?:/i.test(program)) {
    throw invalid('uv run loads a script from a web page, which ToolHive does not install from', {
      hint: 'download the script, and run the file',
    });
  }
  const project = valuesOf([...given], '--project').at(-1);
  const isPython = /^python(?:3(?:\.\d+)?)?$/.test(program);
  const own = placeOf(project, from);
  if (isPython && args[0] === '-m') {
    const [carrier] = settings.python_with ?? [];
    const isIn = own !== undefined && findModule(args[1] ?? '', own) !== undefined;
    if (carrier === undefined || isIn) return readModule(args.slice(1), own, from);
    return {
      request: { image: packageImage('uvx', carrier, 'python'), cmd_arguments: args },
      notes: [],
      source: carrier,
    };
  }
  if (isPython) return readPython(args, from);
  if (isMcpRun([program, ...args])) return readMcpRun(program, args.slice(1), from);
  if (isPath(program)) return readLocalPath([program, ...args], from);
  const others = settings.python_with ?? [];
  const named = others.find((other) => sameName(requirementName(other), program)) ?? others[0];
  const isIsolated = given.some(([flag]) => flag === '--no-project' || flag === '--isolated');
  const place = named === undefined ? own : isIsolated ? undefined : projectAt(own);
  // Without a project that has the program, the program comes from one of the packages.
  const isOwn = place !== undefined && named !== undefined && hasProgram(place, program);
  if (named !== undefined && (place === undefined || (!isOwn && sameName(requirementName(named), program)))) {
    const image = packageImage('uvx', named, program);
    return { request: { image, cmd_arguments: args }, notes: [], source: named };
  }
  if (place === undefined) {
    throw invalid(`uv run ${program} needs a project, and its directory is not known`, {
      hint: 'add --directory with the absolute path of the project',
    });
  }
  return readProgramOf(place, program, args, from);
}

/** A project's own program. Any other one comes from a package that the project only uses. */
async function readProgramOf(
  place: string,
  program: string,
  args: readonly string[],
  from: PastedFrom,
): Promise<Pasted> {
  if (!['pyproject.toml', 'setup.py'].some((file) => existsSync(join(place, file)))) {
    throw invalid(`the program ${program} needs a project, and ${place} has no pyproject.toml`, {
      hint: 'add --directory with its path, or --with and the package that has the program',
    });
  }
  const programs = (await programsOf(place)) ?? [];
  const pasted = await readLocalPath([place, ...args], from, 'uvx');
  if (programs.length === 0) return pasted;
  if (!programs.includes(program)) {
    throw invalid(`the project in ${place} has no program ${program}`, {
      hint: `its programs are ${programs.join(', ')}`,
    });
  }
  const { image = '' } = pasted.request;
  const isUsual = programs.length === 1;
  return {
    ...pasted,
    request: { ...pasted.request, image: isUsual ? image : `${image}#program=${program}` },
  };
}

function placeOf(project: string | undefined, from: PastedFrom): string | undefined {
  if (project === undefined && from.directory === undefined) return undefined;
  return absolutePath(project ?? '.', from);
}

function projectAt(place: string | undefined): string | undefined {
  return place !== undefined && existsSync(join(place, 'pyproject.toml')) ? place : undefined;
}

/** The file of a module in a project. */
export function findModule(module: string, place: string): string | undefined {
  if (!/^\w+(?:\.\w+)*$/.test(module)) return undefined;
  const path = module.replaceAll('.', '/');
  const files = [`${path}.py`, `src/${path}.py`, `${path}/__main__.py`, `src/${path}/__main__.py`];
  return files.map((each) => join(place, each)).find((each) => existsSync(each));
}

/** `python -m package.module` in a project runs the project's program, or the file of the module. */
export async function readModule(
  [module = '', ...args]: readonly string[],
  place: string | undefined,
  from: PastedFrom,
): Promise<Pasted> {
  const file = place === undefined ? undefined : findModule(module, place);
  if (place === undefined || file === undefined) {
    throw invalid(`python -m ${module}: no file of the project contains this module`, {
      hint: `if the module belongs to a package, run thv run uvx://${module.split('.')[0]?.replaceAll('_', '-') ?? ''}`,
    });
  }
  // Only a program of the project can import its own packages.
  if (projectAt(place) !== undefined && isProgram(place, module))
    return readLocalPath([place, ...args], from, 'uvx');
  return readLocalPath([file, ...args], from);
}

/** Whether the project file names a program, in `[project.scripts]`. */
function hasProgram(place: string, program: string): boolean {
  const text = readProjectFile(join(place, 'pyproject.toml'));
  return text.split('\n').some((line) => line.trim().replace(/^["']/, '').startsWith(program));
}

/** Whether `[project.scripts]` starts this module. */
function isProgram(place: string, module: string): boolean {
  const text = readProjectFile(join(place, 'pyproject.toml'));
  const main = module.replace(/\.__main__$/, '');
  return [main, `${main}.__main__`].some((each) => text.includes(`"${each}:`) || text.includes(`'${each}:`));
}

/** `mcp` and `fastmcp`, maybe with a version. */
const mcpProgram = /^(?:fast)?mcp(?:@[\w.]+)?$/;

/** Whether a program starts the server in a file: `fastmcp run server.py:app`. */
export function isMcpRun([program = '', verb = '', ...words]: readonly string[]): boolean {
  if (!mcpProgram.test(program) || !/^(?:run|dev)$/.test(verb)) return false;
  return servedFile(words) || (program.startsWith('fast') && words.length === 0);
}

/** Divides the words from the packages that uv would install for them, and from the flags for a terminal. */
function withoutPackages(all: readonly string[]): { words: string[]; packages: string[] } {
  const words: string[] = [];
  const packages: string[] = [];
  for (let index = 0; index < all.length; index += 1) {
    const word = all[index] ?? '';
    if (word === '--') return { words: words.concat(all.slice(index)), packages };
    const [, attached] = /^--with=(.+)$/.exec(word) ?? [];
    if (attached !== undefined) packages.push(attached);
    else if (word === '--with') packages.push(all[(index += 1)] ?? '');
    else if (!/^--(?:no-banner|reload|inspector)$/.test(word)) words.push(word);
  }
  return { words, packages: packages.filter((each) => each !== '') };
}

/**
 * `mcp run FILE[:OBJECT]` imports the file, and starts the server in it. `fastmcp run` also starts the server that a
 * project file names, by default `fastmcp.json`.
 */
export async function readMcpRun(program: string, all: readonly string[], from: PastedFrom): Promise<Pasted> {
  const { words: taken, packages } = withoutPackages(all);
  const { given, words } = readOtherFlags(`${program} run`, taken, withValues('-t', '--transport'));
  const [named = 'fastmcp.json', ...args] = words;
  const isProject = program.startsWith('fast') && named.endsWith('.json');
  const project = isProject ? await readFastMcpFile(absolutePath(named, from), from) : undefined;
  const target = project?.target ?? named;
  const [file = ''] = target.split(/:(?=\w+$)/);
  const path = absolutePath(file, from);
  const { request, notes } = await readLocalPath([path], from);
  const { python_with = [], ...settings } = project?.settings ?? {};
  return {
    notes: [...notes, ...(project?.notes ?? []), `the server has read access to ${path}`],
    request: {
      image: `uvx://${program}`,
      cmd_arguments: [
        'run',
        ...given.flat(),
        path + target.slice(file.length),
        ...(args.length === 0 ? (project?.args ?? []) : args),
      ],
      ...settings,
      python_with: [
        ...(/^mcp(?:@|$)/.test(program) ? ['mcp[cli]'] : []),
        ...new Set([...(request.python_with ?? []), ...(python_with ?? [])]),
        ...packages,
      ],
      volumes: [`${path}:${path}:ro`],
    },
  };
}

/** The clients for which FastMCP installs a server. */
const installClients = /^(?:claude-desktop|claude-code|cursor|gemini-cli|goose|mcp-json|stdio)$/;
const installFlags = withValues(
  '--with',
  '-v',
  '--env-var',
  '--env',
  '-f',
  '--env-file',
  '-n',
  '--name',
  '--server-name',
  '--python',
);

/** `mcp install FILE` and `fastmcp install CLIENT FILE` let a client start `mcp run FILE`. */
export async function readMcpInstall(
  program: string,
  all: readonly string[],
  from: PastedFrom,
): Promise<Pasted> {
  const given: OtherFlags['given'] = [];
  const words: string[] = [];
  // Flags can be between and behind the other words.
  for (let rest = all; rest.length > 0;) {
    const read = readOtherFlags(`${program} install`, rest, installFlags);
    given.push(...read.given);
    words.push(...read.words.slice(0, 1));
    rest = read.words.slice(1);
  }
  const files = installClients.test(words[0] ?? '') ? words.slice(1) : words;
  const { request, notes } = await readMcpRun(program, files, from);
  const set = valuesOf(given, '-v', '--env-var', '--env').flatMap((text) => {
    const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
    return name === undefined ? [] : [[name, value] as const];
  });
  const read = await readEnvFiles(valuesOf(given, '-f', '--env-file'), from);
  const env_vars = { ...request.env_vars, ...read, ...Object.fromEntries(set) };
  const name = asWorkloadName(valuesOf(given, '-n', '--name', '--server-name').at(-1) ?? '');
  const python_version = valuesOf(given, '--python').at(-1);
  return {
    notes,
    request: {
      ...request,
      ...(name === '' ? {} : { name }),
      ...(python_version === undefined ? {} : { python_version }),
      ...(Object.keys(env_vars).length === 0 ? {} : { env_vars }),
      python_with: [...(request.python_with ?? []), ...valuesOf(given, '--with')],
    },
  };
}
