import { homedir } from 'node:os';
import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { type ThvError, notFound, unavailable, unsupported } from '@toolhive/contract/failure';
import { readIfThere } from '../../read-if-there.ts';
import { type LockedPackage, normalized, pythonContents, readPylock, tagsIn } from '../../contents/python.ts';
import type { PackageContents } from '../../runtime.ts';
import { type PackageSource, isLocalPath, pythonRequirement } from '../../source.ts';
import { recorded } from '../../contents/recorded.ts';
import { inside } from '../plan.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { packageNotFound, versionNotFound } from './missing-package.ts';
import { otherSource } from './npm-sources.ts';
import { readPackageFile, requireProgramFile, severalPrograms } from './package-files.ts';
import { compileModules } from './python-modules.ts';
import { type Python, findPython } from './python.ts';
import { netrcFor, originsIn } from './registries.ts';
import { registryFailure } from './registry-failure.ts';
import { sdkOfItsTime } from './sdk-of-its-time.ts';
import { type InstallContext, type ToolResult, distrustIn, runTool } from './tool.ts';
import { findUv } from './uv-program.ts';

const exactVersion = /^v?\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*(\+[\w.]+)?$/;

/**
 * Python packages from the package index. Installing wheels runs no package code, and nothing starts the
 * environment's Python afterwards, because its `.pth` files would run. Only a package without a wheel is built, in a
 * sandbox without credentials that reaches only the package index.
 */
export const uvInstaller: Installer = {
  keepsDownloads: false,

  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  /** Resolves the dependencies too, because the newest version may have some that cannot be installed here. */
  async resolve(source, context) {
    const locked = await resolvedLock(source, context);
    const own = locked?.find(({ name }) => normalized(name) === normalized(source.name));
    const wheels = own !== undefined && exactVersion.test(own.version) ? own.version : undefined;
    if (wheels !== undefined && (await isNewest(source, wheels, context))) return wheels;
    const { result, pin } = await compiled(source, context, wheels === undefined ? fromWheels : building);
    if (wheels !== undefined && (pin === undefined || pin === wheels)) return wheels;
    resolved.delete(context); // of another version
    if (result.code !== 0) throw uvFailure(source, result);
    if (pin === undefined || !exactVersion.test(pin)) throw packageNotFound(source);
    return pin;
  },

  async newest(source, context) {
    const version = await uvInstaller.resolve(source, context);
    return version === undefined ? undefined : { version };
  },

  async preview(source, context) {
    let lock: LockedPackage[] | undefined;
    const { result } = await withPython(source, context, async (python) => {
      const locked = await lockOf(source, context, { python, build: [NO_BUILD] });
      lock = locked.lock;
      return locked.result;
    });
    if (result.code !== 0 && !needsBuild.test(result.stderr)) throw uvFailure(source, result);
    const artifacts = (lock ?? []).map(({ name, version, wheels: [wheel, ...others] }) => ({
      name,
      version,
      // Which of several wheels would be installed is not known yet.
      ...(others.length > 0 || wheel === undefined
        ? { integrity: '' }
        : { integrity: `sha256:${wheel.sha256}`, file: wheel.file }),
    }));
    const own = artifacts.find(({ name }) => normalized(name) === normalized(source.name));
    if (own === undefined) return undefined;
    const publishedAt = lock?.find(({ name }) => name === own.name)?.wheels[0]?.publishedAt;
    const dependencies = artifacts.filter((one) => one !== own);
    return { registry: await defaultIndex(context.env), publishedAt, artifacts: [own, ...dependencies] };
  },

  async install(source, context) {
    let lock: LockedPackage[] | undefined;
    let tool = normalized(source.name);
    const { result, python } = await withPython(source, context, (found) =>
      fromWheels(source, context, async (build) => {
        const downloaded = await download(source, context, { python: found, build });
        if (downloaded.result.code !== 0) return downloaded.result;
        lock = downloaded.lock;
        const offline = lock === undefined ? [] : ['--offline'];
        const options = [...build, ...offline];
        const older = lock === undefined ? undefined : sdkOfItsTime(source, lock);
        const complete = older === undefined || older.isMissing ? source : older.source;
        if (startsPython(source)) return installForPython(complete, options, { context, python: found });
        const installed = await installTool(complete, options, { context, python: found });
        if (installed.provider !== undefined) tool = normalized(installed.provider);
        return installed.result;
      }),
    );
    if (result.code !== 0 && hasNoProgram(result))
      throw withoutProgram(source, await startsIn(join(context.downloads, CHECKED), source));
    if (result.code !== 0) throw uvFailure(source, result);
    const contents = lock === undefined ? undefined : await contentsOf(source, lock, context);
    if (contents !== undefined) await context.inspect(source, contents);
    const started = tool === normalized(source.name) ? source : { ...source, program: programOf(source) };
    const install = await describeTool(started, { tool, folder: context.folder, python });
    await compileModules(`tools/${tool}`, python, context);
    return { ...install, contents: recorded(contents) };
  },
};

/** The version that uv chooses together with all dependencies. */
async function compiled(
  source: PackageSource,
  context: InstallContext,
  building: typeof fromWheels,
  options: readonly string[] = [],
): Promise<{ result: ToolResult; pin: string | undefined }> {
  const requirements = [pythonRequirement(source), ...(source.options?.with ?? [])];
  const args = [
    'pip',
    'compile',
    REQUIREMENTS,
    '--no-annotate',
    '--no-header',
    '--no-emit-index-url',
    ...options,
  ];
  const { result } = await withPython(source, context, (python) =>
    building(source, context, (build) =>
      uv([...args, '--python', python.path, ...build], context, {
        python,
        source,
        files: { [REQUIREMENTS]: `${requirements.join('\n')}\n` },
      }),
    ),
  );
  const pins = [...result.stdout.matchAll(/^([\w.-]+)(?:\[.*\])?==([^\s;]+)/gm)];
  const pin = pins.find(([, name = '']) => normalized(name) === normalized(source.name))?.[2];
  return { result, pin: result.code === 0 ? pin : undefined };
}

/**
 * Whether no newer version exists for this Python. If a dependency of the newest version has no wheel, uv silently
 * chooses the last version without this dependency, which can be years old.
 */
async function isNewest(source: PackageSource, version: string, context: InstallContext): Promise<boolean> {
  const { pin } = await compiled(source, context, fromWheels, ['--no-deps']);
  return pin === undefined || pin === version;
}

const programOf = ({ name, program }: PackageSource): string => program ?? name;

/**
 * Installs a package with its program. If a dependency has the program, uv installs only the dependency as a tool, with
 * the package in its environment. `uvx` starts such a program, too.
 */
async function installTool(
  source: PackageSource,
  options: readonly string[],
  { context, python }: { context: InstallContext; python: Python },
): Promise<{ result: ToolResult; provider?: string }> {
  const requirement = pythonRequirement(source);
  const others = source.options?.with ?? [];
  const install = (tool: string, beside: readonly string[]): Promise<ToolResult> => {
    const args = ['tool', 'install', ...options, '--python', python.path];
    const more = beside.flatMap((other) => ['--with', other]);
    return uv([...args, ...more, tool], context, { python, source });
  };
  const result = await install(requirement, others);
  const provider = hasNoProgram(result) ? providerOf(source, result) : undefined;
  if (provider === undefined) return { result };
  return { result: await install(provider, [requirement, ...others]), provider };
}

/** The dependency that has the program, which uv names. */
function providerOf(source: PackageSource, { stderr }: Pick<ToolResult, 'stderr'>): string | undefined {
  const found =
    /executable with the name `([^`\s]+)` is available via dependency `([A-Za-z0-9][\w.-]*)`/.exec(stderr);
  return found !== null && found[1] === programOf(source) ? found[2] : undefined;
}

/** Whether the user starts a module of the package, as in `uvx --from PACKAGE python -m MODULE`. */
const startsPython = ({ program }: PackageSource): boolean => /^python3?$/.test(program ?? '');

/** Installs a package that needs no program, because Python is started instead. */
async function installForPython(
  source: PackageSource,
  options: readonly string[],
  { context, python }: { context: InstallContext; python: Python },
): Promise<ToolResult> {
  const place = `${inside.package}/tools/${normalized(source.name)}`;
  const created = await uv(['venv', place, '--python', python.path], context, { python, source });
  if (created.code !== 0) return created;
  const requirements = [pythonRequirement(source), ...(source.options?.with ?? [])];
  return uv(['pip', 'install', ...options, '--python', `${place}/bin/python`, ...requirements], context, {
    python,
    source,
  });
}

// Without progress, uv leaves the first of its two lines out.
const hasNoProgram = ({ stderr }: Pick<ToolResult, 'stderr'>): boolean =>
  /No executables are provided|Failed to install entrypoints/i.test(stderr);

function withoutProgram({ name }: Pick<PackageSource, 'name'>, starts: readonly string[]): ThvError {
  const [start] = starts;
  return unsupported(`package ${name} has no program to run`, {
    hint:
      start === undefined
        ? 'the package is a library rather than a server'
        : `start ${start.startsWith('-m') ? 'its module' : 'its main function'} instead: thv run uvx --from ${name} python ${start}`,
  });
}

/** How Python can start a package: its modules, or else its main function, from the list of its files. */
async function startsIn(folder: string, { name }: PackageSource): Promise<string[]> {
  const infos = (await readdir(folder).catch(() => [])).filter((info) => info.endsWith('.dist-info'));
  const own = infos.find((info) => normalized(info.split('-')[0] ?? '') === normalized(name));
  if (own === undefined) return [];
  const files = (await readPackageFile(folder, join(own, 'RECORD')))?.toString() ?? '';
  const modules = [...files.matchAll(/^([A-Za-z_]\w{0,100})\/__main__\.py,/gm)];
  if (modules.length > 0) return modules.map(([, module = '']) => `-m ${module}`);
  const candidates = [...files.matchAll(/^([A-Za-z_]\w{0,100}\/(?:__init__|server|main|cli)\.py),/gm)];
  for (const [, file = ''] of candidates) {
    const content = (await readPackageFile(folder, file, LONGEST_MODULE))?.toString() ?? '';
    const module = file.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.');
    if (/^def main\(\)/m.test(content)) return [`-c 'import ${module} as server; server.main()'`];
  }
  return [];
}

const LONGEST_MODULE = 256 * 1024;

const LOCK = 'pylock.toml';
const CHECKED = 'checked';

/**
 * Downloads all wheels into uv's cache and compares them with the index's hashes, which `uv tool install` does not
 * do. Works without a lock if a package has no hash or must be built.
 */
async function download(
  source: PackageSource,
  context: InstallContext,
  { python, build }: { python: Python; build: readonly string[] },
): Promise<{ result: ToolResult; lock?: LockedPackage[] }> {
  if (!build.includes(NO_BUILD)) return { result: nothing };
  const locked = await lockOf(source, context, { python, build });
  const { lock } = locked;
  if (lock === undefined) return locked;
  // Not from the lock, because uv would not find its URLs in the cache under the index.
  const pins = lock.map(({ name, version, wheels }) =>
    [`${name}==${version}`, ...wheels.map(({ sha256 }) => `--hash=sha256:${sha256}`)].join(' '),
  );
  const args = [
    'pip',
    'install',
    '--require-hashes',
    '--no-deps',
    '-r',
    REQUIREMENTS,
    '--python',
    python.path,
  ];
  const result = await uv([...args, '--target', `${inside.downloads}/${CHECKED}`, ...build], context, {
    python,
    source,
    files: { [REQUIREMENTS]: `${pins.join('\n')}\n` },
  });
  return { result, lock };
}

const nothing: ToolResult = { code: 0, stdout: '', stderr: '' };

/**
 * Resolves all dependencies for this machine, with the SDK for which the package was written. Without a lock if something
 * has no hash, or with an old version of uv.
 */
async function lockOf(
  source: PackageSource,
  context: InstallContext,
  how: { python: Python; build: readonly string[] },
): Promise<Locked> {
  const known = resolved.get(context);
  if (known?.python.path === how.python.path && how.build.includes(NO_BUILD))
    return { result: nothing, lock: known.lock };
  const newest = await compiledLock(source, context, how);
  const older = newest.lock === undefined ? undefined : sdkOfItsTime(source, newest.lock);
  if (older?.isMissing !== true) return newest;
  const locked = await compiledLock(older.source, context, how);
  if (locked.lock === undefined) return newest; // it needs the newer one after all
  context.report(`${source.name} is older than version 2 of the Python SDK for MCP, so it gets version 1`);
  return locked;
}

interface Locked {
  result: ToolResult;
  lock?: LockedPackage[];
}

async function compiledLock(
  source: PackageSource,
  context: InstallContext,
  { python, build }: { python: Python; build: readonly string[] },
): Promise<Locked> {
  const requirements = [pythonRequirement(source), ...(source.options?.with ?? [])];
  const options = ['--no-annotate', '--no-header', '--python', python.path, ...build];
  const compiled = await uv(
    [
      'pip',
      'compile',
      REQUIREMENTS,
      '--format',
      LOCK,
      '--output-file',
      `${inside.downloads}/${LOCK}`,
      ...options,
    ],
    context,
    { python, source, files: { [REQUIREMENTS]: `${requirements.join('\n')}\n` } },
  );
  // Versions of uv from before April 2025 write no such lock.
  if (/unexpected argument '--format'/.test(compiled.stderr)) return { result: nothing };
  if (compiled.code !== 0) return { result: compiled };
  const lock = readPylock((await readPackageFile(context.downloads, LOCK))?.toString() ?? '');
  return lock === undefined ? { result: nothing } : { result: compiled, lock };
}

/** The dependencies that the resolution of a version found, for the installation that follows. */
const resolved = new WeakMap<InstallContext, { python: Python; lock: LockedPackage[] }>();

/** Resolves a package and its dependencies to wheels. Undefined if that is impossible, for example without hashes. */
async function resolvedLock(
  source: PackageSource,
  context: InstallContext,
): Promise<LockedPackage[] | undefined> {
  let lock: LockedPackage[] | undefined;
  const { python, result } = await withPython(source, context, async (found) => {
    const locked = await lockOf(source, context, { python: found, build: [NO_BUILD] });
    lock = locked.lock;
    return locked.result;
  });
  if (result.code !== 0 || lock === undefined) return undefined;
  resolved.set(context, { python, lock });
  return lock;
}

async function contentsOf(
  { name }: PackageSource,
  lock: readonly LockedPackage[],
  context: InstallContext,
): Promise<PackageContents | undefined> {
  const tags = await wheelTags(join(context.downloads, CHECKED));
  return pythonContents(name, { lock, tags, registry: await defaultIndex(context.env) });
}

/** The tags of the wheels in a directory, by the names of their `.dist-info` directories. */
async function wheelTags(folder: string): Promise<Map<string, string[]>> {
  const infos = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.dist-info'));
  const found = infos.map(async (info) => {
    const metadata = await readPackageFile(folder, join(info, 'WHEEL'), 64 * 1024);
    return [info, tagsIn(metadata?.toString() ?? '')] as const;
  });
  return new Map(await Promise.all(found));
}

const NO_BUILD = '--no-build';

/** Runs uv without building anything, and once more with builds if a package has no wheel. */
export async function fromWheels(
  { name }: Pick<PackageSource, 'name'>,
  { report }: InstallContext,
  run: (options: readonly string[]) => Promise<ToolResult>,
): Promise<ToolResult> {
  const result = await run([NO_BUILD]);
  if (result.code === 0 || !needsBuild.test(result.stderr)) return result;
  report(`building ${name} from source, because the index has no wheel`);
  return run([]);
}

/** Runs uv with builds from the start. */
const building: typeof fromWheels = (_source, _context, run) => run([]);

const needsBuild = /no usable wheels|building (?:from )?source distributions? is disabled|no-build/i;

const REQUIREMENTS = `${inside.home}/requirements.in`;

/** Runs uv with the usual Python, and once more with one that the package requires. */
export async function withPython(
  source: PackageSource,
  context: InstallContext,
  run: (python: Python) => Promise<ToolResult>,
): Promise<{ result: ToolResult; python: Python }> {
  const { name, options } = source;
  const python = await findPython(options?.python, context);
  const result = await run(python);
  const required = /Python\s*((?:[<>=!~]=?\s*\d[\d.*]*,?\s*)+)/.exec(result.stderr)?.[1];
  const isPythonMissing = result.code !== 0 && required !== undefined && options?.python === undefined;
  if (!isPythonMissing) return { result, python };
  const newer = await newerPython(source, context, { python, said: result.stderr });
  const request = newer ?? required.replace(/[\s]+|,\s*$/g, '').replace(/,$/, '');
  context.report(`${name} requires Python ${request}${newer === undefined ? '' : ' or newer'}`);
  const other = await findPython(request, context, { orNewer: newer !== undefined });
  return other.path === python.path ? { result, python } : { result: await run(other), python: other };
}

/** Versions of Python that exist or that packages already ask for. */
const NEWEST_MINOR = 16;

/**
 * The first Python version, newer than the present one, for which the package and all its dependencies have releases.
 * uv names only the first requirement that is not met, and a dependency may need an even newer version.
 */
async function newerPython(
  source: PackageSource,
  context: InstallContext,
  { python, said }: { python: Python; said: string },
): Promise<string | undefined> {
  const current = Number(/current Python version \(3\.(\d+)/.exec(said)?.[1]);
  if (Number.isNaN(current) || isLocalPath(source) || source.git !== undefined) return undefined;
  const requirements = [pythonRequirement(source), ...(source.options?.with ?? [])];
  for (let minor = current + 1; minor <= NEWEST_MINOR; minor += 1) {
    const version = `3.${minor}`;
    const args = ['pip', 'compile', REQUIREMENTS, '--quiet', NO_BUILD, '--python', python.path];
    const { code } = await uv([...args, '--python-version', version], context, {
      python,
      source,
      files: { [REQUIREMENTS]: `${requirements.join('\n')}\n` },
    });
    if (code === 0) return version;
  }
  return undefined;
}

interface UvCall {
  python: Python;
  source: PackageSource;
  files?: Record<string, string>;
  /** Whether files of the package can name other sources than the package index. */
  registriesOnly?: boolean;
}

/** Runs uv in a sandbox, with the user's settings unless uv may build packages. */
export async function uv(
  args: string[],
  context: InstallContext,
  { python, source, files, registriesOnly = false }: UvCall,
): Promise<ToolResult> {
  const program = await findUv(context);
  const builds = !args.includes(NO_BUILD);
  const settings =
    builds || registriesOnly
      ? withoutCredentials(await readUvSettings(context.env))
      : await readUvSettings(context.env);
  return runTool(
    {
      name: 'uv',
      command: [program, ...args, '--color', 'never', '--no-progress'],
      env: {
        ...defaults,
        ...settings.env,
        ...releasesOf(source),
        UV_TOOL_DIR: `${inside.package}/tools`,
        UV_TOOL_BIN_DIR: `${inside.package}/bin`,
        UV_CACHE_DIR: inside.downloads,
        UV_LINK_MODE: 'copy', // a link into the downloads would let later installations change this one
        UV_PYTHON_DOWNLOADS: 'never',
      },
      files: { ...settings.files, ...files },
      readOnlyPaths: [program, ...python.readOnlyPaths],
      registries: settings.registries,
      registriesOnly: builds || registriesOnly,
      onLine: (line) => {
        if (/^(Resolved|Downloading|Building|Built|Prepared|Installed) /.test(line))
          context.report(`${line.slice(0, 1).toLowerCase()}${line.slice(1)}`);
      },
    },
    context,
  );
}

/** What the user has chosen for this package precedes the settings of uv. */
function releasesOf({ options }: PackageSource): Record<string, string> {
  return {
    ...(options?.excludeNewer === undefined ? {} : { UV_EXCLUDE_NEWER: options.excludeNewer }),
    ...(options?.prerelease === undefined ? {} : { UV_PRERELEASE: options.prerelease }),
  };
}

/** Limits of uv that are too short for slow networks, in seconds, and the number of simultaneous downloads. */
const defaults = { UV_HTTP_CONNECT_TIMEOUT: '60', UV_HTTP_TIMEOUT: '120', UV_CONCURRENT_DOWNLOADS: '8' };

const DEFAULT_INDEXES = ['https://pypi.org', 'https://files.pythonhosted.org'];

/** Which indexes there are, how to log in there, and which releases to accept. */
const settingVariables =
  /^UV_(?:(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?|INDEX_\w+_(?:USERNAME|PASSWORD)|INDEX_STRATEGY|NO_INDEX|FIND_LINKS|EXCLUDE_NEWER|PRERELEASE|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|HTTP_RETRIES|NATIVE_TLS|SYSTEM_CERTS|INSECURE_HOST|OFFLINE|CONCURRENT_\w+)$/;

interface UvSettings {
  registries: Set<string>;
  env: Record<string, string>;
  files: Record<string, string>;
}

function readConfig(env: NodeJS.ProcessEnv): Promise<string> {
  const home = env['HOME'] ?? homedir();
  return readIfThere(
    env['UV_CONFIG_FILE'] ?? join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'uv', 'uv.toml'),
  );
}

/** The URL of the index that uv asks by default, without credentials. */
async function defaultIndex(env: NodeJS.ProcessEnv): Promise<string> {
  const configured = /^index-url *= *"([^"]+)"/m.exec(await readConfig(env))?.[1];
  const text = env['UV_DEFAULT_INDEX'] ?? env['UV_INDEX_URL'] ?? configured ?? 'https://pypi.org/simple';
  const url = URL.parse(text.replace(/^[\w-]+=/, ''));
  if (url === null) return '';
  [url.username, url.password] = ['', ''];
  return url.href;
}

async function readUvSettings(env: NodeJS.ProcessEnv): Promise<UvSettings> {
  const home = env['HOME'] ?? homedir();
  const config = await readConfig(env);
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

/** The settings without credentials, for packages that could send them to an index that they are published on. */
function withoutCredentials({ registries, env }: UvSettings): UvSettings {
  const kept = Object.entries(env).filter(
    ([name, value]) => !/_(?:USERNAME|PASSWORD)$|^NETRC$/.test(name) && !/\/\/[^/\s]*@/.test(value),
  );
  return { registries, env: Object.fromEntries(kept), files: {} };
}

/**
 * How an installed tool is started. Everything here is worked out from names alone, or known before anything of the
 * package was unpacked.
 */
export async function describeTool(
  source: PackageSource,
  { tool, folder, python }: { tool: string; folder: string; python: Python },
): Promise<Install> {
  const { name, version } = source;
  const interpreter = { command: `tools/${tool}/bin/python`, readOnlyPaths: python.readOnlyPaths };
  if (startsPython(source)) return { ...interpreter, version: version ?? '', args: [] };
  const script = chooseExecutable(
    { ...source, name: tool },
    await readdir(join(folder, 'bin')).catch(() => []),
  );
  const path = innerPath(name, `tools/${tool}/bin/${script}`);
  await requireProgramFile(name, folder, path);
  return { ...interpreter, version: version ?? '', args: [path] };
}

/** The executable that the source names, or the one named like the package, or else the only one. */
export function chooseExecutable(source: PackageSource, executables: readonly string[]): string {
  const { name, program } = source;
  const same = executables.find((executable) => normalized(executable) === normalized(program ?? name));
  const only = program === undefined && executables.length === 1 ? executables[0] : undefined;
  const chosen = only ?? same;
  if (chosen !== undefined) return chosen;
  throw severalPrograms(source, executables);
}

/** Summarizes uv's chain of causes in one line. */
export function uvFailure(source: PackageSource, { stderr }: Pick<ToolResult, 'stderr'>): ThvError {
  const { name, version, options } = source;
  const [, dependency, url] = /`([\w.-]+)(?:\[.*?\])? @ ((?:git\+|https?:|file:)[^`]+)`/.exec(stderr) ?? [];
  if (dependency !== undefined) return elsewhere(name, `${dependency} comes from ${url}`);
  const failedBuild = /Failed to build `?([\w.-]+)/.exec(stderr)?.[1];
  if (failedBuild !== undefined) {
    return unsupported(`package ${failedBuild} could not be built from source: ${reasonOfBuild(stderr)}`, {
      hint: 'choose another Python version with --python, for which there is a wheel, or install the compiler or library that the build needs',
    });
  }
  if (/URL dependenc/i.test(stderr)) {
    const reason = /Package `([^`]+)`/.exec(stderr)?.[1];
    return elsewhere(name, reason === undefined ? 'the requirement is a URL' : `${reason} comes from a URL`);
  }
  const missing = /(?:Because|and|╰─▶) ([\w.-]+) was not found in the package registry/.exec(stderr)?.[1];
  if (missing !== undefined) {
    return packageNotFound(source, normalized(missing) === normalized(name) ? undefined : missing);
  }
  const unknown = /there (?:is|are) no versions? of ([\w.-]+)/.exec(stderr.replace(/\s+/g, ' '))?.[1];
  if (unknown !== undefined && normalized(unknown) === normalized(name)) {
    if (options?.excludeNewer !== undefined && stderr.includes('`exclude-newer`'))
      return tooNew({ name, version, until: options.excludeNewer }, stderr);
    return versionNotFound(source, version ?? 'latest');
  }
  if (hasNoProgram({ stderr })) return withoutProgram({ name }, []);
  const error = reasonOf(stderr);
  if (/pre-releases weren't enabled/i.test(stderr))
    return notFound(`${name} needs a pre-release: ${error}`, { hint: 'run it with --prerelease allow' });
  const distrust = distrustIn(stderr);
  if (distrust !== undefined) return distrust;
  if (
    /Failed to (?:fetch|download)|error sending request|dns error|Network|timed out|timeout/i.test(stderr)
  ) {
    return registryFailure(
      { reason: error, said: stderr },
      {
        check: 'check the network, the proxy settings and the index that uv is set to',
        timeouts: `UV_HTTP_TIMEOUT (${defaults.UV_HTTP_TIMEOUT} seconds) and UV_HTTP_CONNECT_TIMEOUT (${defaults.UV_HTTP_CONNECT_TIMEOUT} seconds)`,
      },
    );
  }
  return unavailable(`uv could not install ${name}: ${error}`);
}

/** A package without a version of the chosen day or before. uv tells when the one was published that it would have taken. */
function tooNew(
  { name, version, until }: { name: string; version: string | undefined; until: string },
  stderr: string,
): ThvError {
  const [, published] = /published at\s+(\d{4}-\d\d-\d\d)/.exec(stderr) ?? [];
  const problem =
    version === undefined
      ? `package ${name} has no version from ${until} or before`
      : `version ${version} of package ${name} was published after ${until}`;
  return notFound(problem, {
    hint: `choose a later day with --exclude-newer${published === undefined ? '' : `, such as ${published}`}`,
  });
}

/** A Python package whose dependencies no index has. No setting allows them. */
const elsewhere = (name: string, reason: string): ThvError =>
  otherSource(name, reason, 'ask the author of the package to take its dependencies from a package index');

const LONGEST_REASON = 600;

/** The error of uv and its causes in one line: `Failed to fetch: …: dns error`. */
function reasonOf(stderr: string): string {
  const text = stderr.replace(/\n\s{4,}(?!(?:caused by|cause):)/gi, ' '); // continued lines
  const lines = text
    .split('\n')
    .flatMap(
      (line) =>
        /^\s*(?:error:|×|├─▶|╰─▶|(?:caused by|cause):)\s*(.+)/i.exec(line)?.[1]?.trim().replace(/:$/, '') ??
        [],
    );
  return lines.length === 0 ? 'uv gave no reason' : [...new Set(lines)].join(': ').slice(0, LONGEST_REASON);
}

/** The last error line in the build output, or else uv's error. */
function reasonOfBuild(stderr: string): string {
  const errors = stderr.split('\n').filter((line) => /\b(?:\w*error|fatal|not found)\b\s*:/i.test(line));
  const last = errors.findLast(
    (line) => !/^error: |hint:|Failed to build|^\s*(?:caused by|cause):/i.test(line),
  );
  return last === undefined ? reasonOf(stderr) : last.trim().slice(0, LONGEST_REASON);
}
