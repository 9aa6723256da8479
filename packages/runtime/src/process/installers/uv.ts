import { homedir } from 'node:os';
import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { type ThvError, notFound, unavailable, unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import { inside } from '../plan.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { otherSource } from './npm-sources.ts';
import { requireProgramFile } from './package-files.ts';
import { type Python, findPython } from './python.ts';
import { netrcFor, originsIn } from './registries.ts';
import { type InstallContext, type ToolResult, distrustIn, readIfThere, runTool } from './tool.ts';
import { findUv } from './uv-program.ts';

const exactVersion = /^v?\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*(\+[\w.]+)?$/;

/**
 * Packages of the Python index, from wheels only: building one from source would run its code. For the same reason
 * nothing here starts the environment's own Python after the packages are in it: their `.pth` files would run.
 */
export const uvInstaller: Installer = {
  keepsDownloads: false,

  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  async resolve(source, context) {
    const options = ['--no-deps', '--no-annotate', '--no-header', '--no-build', '--no-emit-index-url'];
    const { result } = await withPython(source, context, (python) =>
      uv(['pip', 'compile', REQUIREMENTS, '--python', python.path, ...options], context, {
        python,
        files: { [REQUIREMENTS]: `${requirementOf(source)}\n` },
      }),
    );
    if (result.code !== 0) throw uvFailure(source, result);
    const version = /^[\w.-]+(?:\[.*\])?==([^\s;]+)/m.exec(result.stdout)?.[1];
    if (version === undefined || !exactVersion.test(version))
      throw notFound(`package ${source.name} not found`);
    return version;
  },

  async install(source, context) {
    const { result, python } = await withPython(source, context, (found) =>
      uv(['tool', 'install', '--no-build', '--python', found.path, requirementOf(source)], context, {
        python: found,
      }),
    );
    if (result.code !== 0) throw uvFailure(source, result);
    return describeInstall(source, context.folder, python);
  },
};

const REQUIREMENTS = `${inside.home}/requirements.in`;

/** A plain version means exactly that one, as in `uvx NAME@VERSION`; anything else is Python's own notation. */
function requirementOf({ name, version }: PackageSource): string {
  if (version === undefined || version === 'latest') return name;
  return /^[<>=~]/.test(version) ? `${name}${version}` : `${name}==${version}`;
}

/** Runs uv with the usual Python, and once more with one that the package requires. */
async function withPython(
  { name }: PackageSource,
  context: InstallContext,
  run: (python: Python) => Promise<ToolResult>,
): Promise<{ result: ToolResult; python: Python }> {
  const python = await findPython(undefined, context);
  const result = await run(python);
  const required = /Python\s*((?:[<>=!~]=?\s*\d[\d.*]*,?\s*)+)/.exec(result.stderr)?.[1];
  const isPythonMissing = result.code !== 0 && required !== undefined;
  if (!isPythonMissing) return { result, python };
  const request = required.replace(/[\s]+|,\s*$/g, '').replace(/,$/, '');
  context.report(`${name} requires Python ${request}`);
  const other = await findPython(request, context);
  return other.path === python.path ? { result, python } : { result: await run(other), python: other };
}

interface UvCall {
  python: Python;
  files?: Record<string, string>;
}

async function uv(args: string[], context: InstallContext, { python, files }: UvCall): Promise<ToolResult> {
  const program = await findUv(context);
  const settings = await readUvSettings(context.env);
  return runTool(
    {
      name: 'uv',
      command: [program, ...args, '--color', 'never', '--no-progress'],
      env: {
        ...settings.env,
        UV_TOOL_DIR: `${inside.package}/tools`,
        UV_TOOL_BIN_DIR: `${inside.package}/bin`,
        UV_CACHE_DIR: inside.downloads,
        UV_LINK_MODE: 'copy', // a link into the downloads would let later installations change this one
        UV_PYTHON_DOWNLOADS: 'never',
      },
      files: { ...settings.files, ...files },
      readOnlyPaths: [program, ...python.readOnlyPaths],
      registries: settings.registries,
      onLine: (line) => {
        if (/^(Resolved|Downloading|Prepared|Installed) /.test(line)) context.report(line.toLowerCase());
      },
    },
    context,
  );
}

const DEFAULT_INDEXES = ['https://pypi.org', 'https://files.pythonhosted.org'];

/** Which indexes there are, how to log in there, and which releases to accept. */
const settingVariables =
  /^UV_(?:(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?|INDEX_\w+_(?:USERNAME|PASSWORD)|INDEX_STRATEGY|NO_INDEX|FIND_LINKS|EXCLUDE_NEWER|PRERELEASE|HTTP_TIMEOUT|HTTP_RETRIES|NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|OFFLINE|CONCURRENT_\w+)$/;

async function readUvSettings(env: NodeJS.ProcessEnv) {
  const home = env['HOME'] ?? homedir();
  const config = await readIfThere(
    env['UV_CONFIG_FILE'] ?? join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'uv', 'uv.toml'),
  );
  const variables = Object.entries(env).filter(
    (entry): entry is [string, string] => settingVariables.test(entry[0]) && entry[1] !== undefined,
  );
  const registries = originsIn([...DEFAULT_INDEXES, config, ...variables.map(([, value]) => value)]);
  const netrc = netrcFor(await readIfThere(env['NETRC'] ?? join(home, '.netrc')), registries);
  const netrcFile = `${inside.home}/.netrc`;
  return {
    registries,
    env: { ...Object.fromEntries(variables), ...(netrc === '' ? {} : { NETRC: netrcFile }) },
    files: {
      ...(config === '' ? {} : { [`${inside.home}/.config/uv/uv.toml`]: config }),
      ...(netrc === '' ? {} : { [netrcFile]: netrc }),
    },
  };
}

/** Everything here is worked out from names alone, or known before anything of the package was unpacked. */
async function describeInstall(
  { name, version }: PackageSource,
  folder: string,
  python: Python,
): Promise<Install> {
  const tool = normalized(name);
  const script = chooseExecutable(name, await readdir(join(folder, 'bin')).catch(() => []));
  const path = innerPath(name, `tools/${tool}/bin/${script}`);
  await requireProgramFile(name, folder, path);
  return {
    version: version ?? '',
    command: `tools/${tool}/bin/python`,
    args: [path],
    readOnlyPaths: python.readOnlyPaths,
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
  if (/URL dependenc/i.test(stderr)) {
    const reason = /Package `([^`]+)`/.exec(stderr)?.[1];
    return otherSource(name, reason === undefined ? 'it names a URL' : `${reason} comes from a URL`);
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
