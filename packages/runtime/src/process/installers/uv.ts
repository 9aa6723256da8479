import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ThvError, notFound, unavailable, unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { type ToolResult, type Workshop, distrustIn, runTool } from './tool.ts';

const exactVersion = /^v?\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*(\+[\w.]+)?$/;

/**
 * Packages of the Python index, from wheels only: building one from source would run its code on the machine.
 * For the same reason nothing here starts the environment's own Python after the packages are in it: their
 * `.pth` files would run.
 */
export const uvInstaller: Installer = {
  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  async resolve(source, folder, workshop) {
    const requirements = join(folder, 'requirements.in');
    await writeFile(requirements, `${requirementOf(source)}\n`);
    const options = ['--no-deps', '--no-annotate', '--no-header', '--no-build', '--no-emit-index-url'];
    const result = await uv(['pip', 'compile', requirements, ...options], folder, workshop);
    await rm(requirements);
    if (result.code !== 0) throw uvFailure(source, result);
    const version = /^[\w.-]+(?:\[.*\])?==([^\s;]+)/m.exec(result.stdout)?.[1];
    if (version === undefined) throw notFound(`package ${source.name} not found`);
    return version;
  },

  async install(source, folder, workshop) {
    const result = await uv(['tool', 'install', '--no-build', requirementOf(source)], folder, workshop);
    if (result.code !== 0) throw uvFailure(source, result);
    return describeInstall(source, folder);
  },
};

/** A plain version means exactly that one, as in `uvx NAME@VERSION`; anything else is Python's own notation. */
function requirementOf({ name, version }: PackageSource): string {
  if (version === undefined || version === 'latest') return name;
  return /^[<>=~]/.test(version) ? `${name}${version}` : `${name}==${version}`;
}

function uv(args: string[], folder: string, workshop: Workshop): Promise<ToolResult> {
  return runTool(
    {
      name: 'uv',
      args: [...args, '--color', 'never', '--no-progress'],
      cwd: folder,
      env: {
        UV_TOOL_DIR: join(folder, 'tools'),
        UV_TOOL_BIN_DIR: join(folder, 'bin'),
        // A Python that uv downloads is shared by packages and never moved, unlike the folder of this one.
        UV_PYTHON_INSTALL_DIR: join(workshop.cacheDir, '.python'),
      },
      missing: 'install it from https://docs.astral.sh/uv/ or with: python3 -m pip install uv',
      onLine: (line) => {
        if (/^(Resolved|Downloading|Prepared|Installed) /.test(line)) workshop.report(line.toLowerCase());
      },
    },
    workshop,
  );
}

/**
 * The environment holds its own place in its scripts' first lines. They are not used: its Python is told which
 * script to run, and finds its packages by where it lies itself. So the folder may be moved.
 */
async function describeInstall({ name }: PackageSource, folder: string): Promise<Install> {
  const [tool = name] = (await readdir(join(folder, 'tools'))).filter((entry) => !entry.startsWith('.'));
  const script = chooseExecutable(name, await readdir(join(folder, 'bin')));
  const settings = await readFile(join(folder, 'tools', tool, 'pyvenv.cfg'), 'utf8');
  const base = dirname(/^home = (.+)$/m.exec(settings)?.[1]?.trim() ?? '/usr/bin');
  return {
    version: await installedVersion(tool, folder),
    command: `tools/${tool}/bin/python`,
    args: [innerPath(name, `tools/${tool}/bin/${script}`)],
    readOnlyPaths: base === '/usr' || base === '/' ? [] : [base],
  };
}

/** The executable named like the package, or else the only one. */
export function chooseExecutable(name: string, executables: readonly string[]): string {
  const same = executables.find((executable) => normalized(executable) === normalized(name));
  const chosen = executables.length === 1 ? executables[0] : same;
  if (chosen !== undefined) return chosen;
  throw unsupported(`package ${name} has several programs and none is called ${name}`, {
    hint: `it has ${executables.join(', ')}; ask its author to name one like the package`,
  });
}

/** Each installed package has a folder `NAME-VERSION.dist-info`. */
async function installedVersion(tool: string, folder: string): Promise<string> {
  const library = join(folder, 'tools', tool, 'lib');
  const [python = ''] = await readdir(library);
  for (const entry of await readdir(join(library, python, 'site-packages'))) {
    const [, name = '', version = ''] = /^(.+)-([^-]+)\.dist-info$/.exec(entry) ?? [];
    if (normalized(name) === normalized(tool)) return version;
  }
  throw unavailable(`uv installed ${tool} without saying which version`);
}

const normalized = (name: string) => name.toLowerCase().replace(/[-_.]+/g, '-');

/** Says in a line what uv says as a chain of causes. */
export function uvFailure(
  { name, version }: PackageSource,
  { stderr }: Pick<ToolResult, 'stderr'>,
): ThvError {
  if (stderr.includes('no usable wheels')) {
    return unsupported(`package ${name} has no wheel for this machine`, {
      hint: 'installing it from source would run its code unconfined; use a container image of it',
    });
  }
  if (/was not found in the package registry/.test(stderr)) return notFound(`package ${name} not found`);
  if (/there (is|are) no versions? of/.test(stderr)) {
    return notFound(`version ${version ?? 'latest'} of package ${name} not found`);
  }
  if (/No executables are provided/i.test(stderr)) {
    return unsupported(`package ${name} has no program to run`, {
      hint: 'it is a library rather than a server',
    });
  }
  const [error = 'it gave no reason'] = stderr
    .split('\n')
    .flatMap((line) => /^error: (.+)/.exec(line)?.[1] ?? []);
  const distrust = distrustIn(stderr);
  if (distrust !== undefined) return distrust;
  if (/Failed to fetch|error sending request|dns error|Network/i.test(stderr)) {
    return unavailable(`cannot reach the package registry: ${error}`, {
      hint: 'check the network, the proxy settings and the index that uv is set to',
    });
  }
  return unavailable(`uv could not install ${name}: ${error}`);
}
