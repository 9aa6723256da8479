import { execFile } from 'node:child_process';
import { access, readdir, realpath, rm } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { type ThvError, invalid, messageOf, unavailable, unsupported } from '@toolhive/contract/failure';
import * as z from 'zod';
import { npmSourceOptions } from '../../npm-source-options.ts';
import { npmContents } from '../../contents/npm.ts';
import type { PackageContents, Release } from '../../runtime.ts';
import type { PackageSource } from '../../source.ts';
import { toolEnvironment } from '../../version-managers.ts';
import { inside } from '../plan.ts';
import type { Installer } from './installers.ts';
import { type Install, innerPath } from './install.ts';
import { packageNotFound, versionNotFound } from './missing-package.ts';
import { missingCompilers, nodeHeaders } from './node-headers.ts';
import { otherSource, refuseOtherSources, refuseOtherSourcesIn } from './npm-sources.ts';
import { registryFailure } from './registry-failure.ts';
import { type NpmSettings, readNpmSettings } from './npm-settings.ts';
import { field, npmName, readPackageJson, requireProgramFile, severalPrograms } from './package-files.ts';
import {
  type InstallContext,
  type ToolCall,
  type ToolResult,
  distrustIn,
  requireProgram,
  runTool,
} from './tool.ts';

const exactVersion = /^\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?$/;

/** Packages of the npm registry. Only those install scripts run that the user has allowed. */
export const npmInstaller: Installer = {
  keepsDownloads: false,

  isPinned: ({ version }) => version !== undefined && exactVersion.test(version),

  async resolve(source, context) {
    const spec = specOf(source);
    if (namesOneRelease(source)) {
      if (context.isFirst) begin(source, context);
      const release = await releaseOf(source, context);
      if (release === undefined) throw missingRelease(source);
      resolved.set(context, release);
      return release.version;
    }
    const result = await npm(['view', spec, 'version', '--json'], context);
    if (result.code !== 0) throw npmFailure(source, result);
    const version = newestOf(parseJson(result.stdout));
    if (version === undefined) throw missingRelease(source);
    return version;
  },

  async newest(source, context) {
    const release = await releaseOf(source, context);
    if (release === undefined) throw packageNotFound(source);
    return release;
  },

  async preview(source, context) {
    const result = await npm([...installCommand(context), '--package-lock-only', specOf(source)], context);
    if (result.code !== 0) throw await installFailure(source, result, context);
    return contentsOf(source, await publishedAtOf(source, context), context, 'package-lock.json');
  },

  async install(source, context) {
    // An installation does not depend on publication times, which some registries do not report.
    const looking = publishedAtOf(source, context).catch(() => undefined);
    const installing = installed(source, context);
    await Promise.allSettled([installing, looking]); // both use the folders of this installation
    const result = await installing;
    if (result.code !== 0) throw await installFailure(source, result, context);
    await refuseOtherSources(source.name, context);
    const contents = await contentsOf(source, await looking, context);
    await context.inspect(source, contents);
    await runScripts(source, context);
    const install = await describeInstall(source, context.folder, `node_modules/${source.name}`);
    return { ...install, contents };
  },
};

/** An installation that began while its version was still being looked up. */
interface Begun {
  result: Promise<ToolResult>;
  /** Reports the progress so far and from now on. */
  show: () => void;
}

const begun = new WeakMap<InstallContext, Begun>();

/** Begins to install the release that a source names. Nothing of a package runs in an installation. */
function begin(source: PackageSource, context: InstallContext): void {
  let step: string | undefined;
  let isShown = false;
  const report = (text: string): void => {
    step = text;
    if (isShown) context.report(text);
  };
  const result = npm([...installCommand(context), specOf(source)], { ...context, report });
  result.catch(() => {}); // reported by `installed`, if the version is found
  context.background.add(result);
  const show = (): void => {
    isShown = true;
    if (step !== undefined) context.report(step);
  };
  begun.set(context, { result, show });
}

/** Installs the exact version, unless that has begun already. */
async function installed(source: PackageSource, context: InstallContext): Promise<ToolResult> {
  const early = begun.get(context);
  early?.show();
  const result = await early?.result;
  const lockfile = result?.code === 0 ? await readPackageJson(context.folder, lockfileInside) : undefined;
  const found = field(field(field(lockfile, 'packages'), `node_modules/${source.name}`), 'version');
  if (result !== undefined && (result.code !== 0 || found === source.version)) return result;
  await emptyFolder(context.folder); // another release was published in between
  return npm([...installCommand(context), specOf(source)], context);
}

async function emptyFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) await rm(join(folder, entry), { recursive: true, force: true });
}

/** Where npm lists what it has installed. */
const lockfileInside = 'node_modules/.package-lock.json';

/** The releases that were resolved with a context, so that npm does not start again for their publication times. */
const resolved = new WeakMap<InstallContext, Release>();

/** Whether a source names a tag, such as `latest`. For a range, npm prints all publication times for each version in it. */
const namesOneRelease = ({ version = 'latest' }: PackageSource): boolean => /^[a-z]{2}[a-z-]*$/.test(version);

/** The release of a source that names a tag. */
async function releaseOf(source: PackageSource, context: InstallContext): Promise<Release | undefined> {
  const result = await npm(['view', specOf(source), 'version', 'time', '--json'], context);
  if (result.code !== 0) throw npmFailure(source, result);
  const found = parseJson(result.stdout);
  // Without times, npm prints the version alone.
  const version = newestOf(field(found, 'version') ?? found);
  if (version === undefined) return undefined;
  const publishedAt = timeIn(found, version);
  return { version, ...(publishedAt === undefined ? {} : { publishedAt }) };
}

/** When an exact version was published. Undefined if the registry does not say so. */
async function publishedAtOf(source: PackageSource, context: InstallContext): Promise<string | undefined> {
  const known = resolved.get(context);
  if (known !== undefined && known.version === source.version) return known.publishedAt;
  const { stdout } = await npm(['view', specOf(source), 'version', 'time', '--json'], context);
  return timeIn(parseJson(stdout), source.version ?? '');
}

/** The publication time of a version in the output of `npm view`. */
function timeIn(found: unknown, version: string): string | undefined {
  const time = field(field(found, 'time'), version);
  const at = typeof time === 'string' ? Date.parse(time) : NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

async function contentsOf(
  { name }: PackageSource,
  publishedAt: string | undefined,
  context: InstallContext,
  file = lockfileInside,
): Promise<PackageContents> {
  const { registryOf } = await readNpmSettings(context.env, await findNpm(context));
  return npmContents(await readPackageJson(context.folder, file), {
    name,
    registry: registryOf(name),
    publishedAt,
  });
}

/**
 * Runs the install scripts that the user has allowed, after everything is installed, in a sandbox that has no credentials
 * and reaches only the package registry.
 */
export async function runScripts({ name, options }: PackageSource, context: InstallContext): Promise<void> {
  const allowed = options?.allowScripts ?? [];
  const scripted = await packagesWithScripts(context.folder);
  const unknown = allowed.find((one) => !scripted.includes(one));
  if (unknown !== undefined) {
    throw invalid(`package ${name} contains no package ${unknown} with install scripts`, {
      hint:
        scripted.length === 0
          ? 'omit --allow-scripts'
          : `packages with install scripts: ${scripted.join(', ')}`,
    });
  }
  const ignored = scripted.filter((one) => !allowed.includes(one));
  if (ignored.length > 0) {
    const flags = ignored.slice(0, MOST_NAMED).map((one) => `--allow-scripts ${one}`);
    context.report(`install scripts did not run. If the server needs them, add ${flags.join(' ')}`);
  }
  if (allowed.length === 0) return;
  context.report(`running the install scripts of ${allowed.join(', ')}`);
  const headers = await nodeHeaders(context, installHeaders);
  const args = ['rebuild', '--ignore-scripts=false', '--foreground-scripts', '--loglevel=http'];
  const result = await npm([...args, '--prefix', inside.package, ...allowed], context, {
    registriesOnly: true,
    isScript: true,
    env: headers === undefined ? {} : { npm_config_nodedir: headers },
    readOnlyPaths: headers === undefined ? [] : [join(headers, 'include', 'node')],
  });
  if (result.code === 0) return;
  throw unsupported(`the install scripts of ${allowed.join(', ')} failed: ${scriptFailure(result)}`, {
    hint: await scriptHint(result, headers),
  });
}

const MOST_NAMED = 5;

const InstalledPackages = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({ hasInstallScript: z.boolean().optional().catch(undefined) }),
  ),
});

/** The names of installed packages that have install scripts. */
async function packagesWithScripts(folder: string): Promise<string[]> {
  const lockfile = InstalledPackages.safeParse(await readPackageJson(folder, lockfileInside));
  const found = Object.entries(lockfile.data?.packages ?? {}).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript === true ? [path.replace(/^.*node_modules\//, '')] : [],
  );
  return [...new Set(found)].filter((name) => npmName.test(name));
}

/** Installs the npm package with the headers of Node.js, of which nothing runs. */
async function installHeaders(source: PackageSource, context: InstallContext): Promise<void> {
  const result = await npm([...installCommand(context), '--no-bin-links', specOf(source)], context);
  if (result.code !== 0) throw npmFailure(source, result);
  await context.inspect(source, await contentsOf(source, undefined, context));
}

/** The fix for an install script that failed. */
export async function scriptHint(result: ToolResult, headers: string | undefined): Promise<string> {
  const library = missingLibrary.exec(`${result.stdout}\n${result.stderr}`)?.[1];
  if (library !== undefined) {
    return `install the development files of this library on this machine: the package of your system that contains ${library}.pc, often named ${library}-dev or ${library}-devel`;
  }
  const compiles = /node-gyp|gyp ERR|prebuild-install|node-pre-gyp|cmake-js/.test(
    `${result.stdout}${result.stderr}`,
  );
  const missing = compiles ? await missingCompilers() : [];
  if (missing.length > 0) {
    return `the package has no prebuilt binary, and compiling it needs programs of this machine: apt install ${missing.join(' ')}`;
  }
  if (compiles && headers === undefined) {
    return `install Node.js ${process.versions.node} with its headers (include/node), as in the archives of https://nodejs.org`;
  }
  return 'install the compiler or library that they need on this machine, or run the package with a container engine';
}

/** The library of the system that a compilation asked pkg-config for. */
const missingLibrary = /^Package '?([A-Za-z][\w.+-]{0,100})'?,? .*\bnot found\b/m;

/** The last line in which a script names an error. */
export function scriptFailure({ stdout, stderr }: ToolResult): string {
  const lines = `${stdout}\n${stderr}`.split('\n').map((line) => line.trim());
  const found =
    lines.find((line) => missingLibrary.test(line)) ??
    lines.findLast((line) => /error/i.test(line) && !/^npm |^gyp ERR! (?:stack|not ok)|"/.test(line)) ??
    lines.findLast((line) => /^npm (?:error|ERR!) (?!code |errno |path |command |A complete log)/.test(line));
  return found?.slice(0, 300) ?? 'they gave no reason';
}

/**
 * The npm options that install the following packages, or else the package in the directory, into the package's
 * directory.
 */
export const installCommand = (context: InstallContext): string[] => [
  'install',
  ...installOptions,
  ...npmSourceOptions(context.allowed),
  ...gitOptions(context),
  '--prefix',
  inside.package,
];

const installOptions =
  '--json --ignore-scripts --no-audit --no-fund --omit=dev --no-global --loglevel=http'.split(' ');

/** Without a source besides the registry, npm has no use for git, which runs programs that a repository names. */
const gitOptions = ({ allowed }: InstallContext) => (allowed.length === 0 ? ['--git=/dev/null'] : []);

const specOf = ({ name, version }: PackageSource) => (version === undefined ? name : `${name}@${version}`);

interface NpmCall extends Pick<ToolCall, 'registriesOnly' | 'env' | 'readOnlyPaths' | 'cwd'> {
  /** Whether scripts of packages run. */
  isScript?: boolean;
}

/** Runs npm in a sandbox, with the user's settings. */
export async function npm(
  args: string[],
  context: InstallContext,
  { isScript = false, ...call }: NpmCall = {},
): Promise<ToolResult> {
  const root = await findNpm(context);
  const settings: NpmSettings = await readNpmSettings(context.env, root);
  const { registries, certificates } = settings;
  // Scripts could send credentials to a registry on which their author publishes.
  const npmrc = isScript ? settings.npmrc.replaceAll(/^(?:\/\/|.*\/\/[^/\s"]*@).*\n/gm, '') : settings.npmrc;
  const authorities = `${inside.home}/certificates.pem`;
  let downloads = 0;
  return runTool(
    {
      name: 'npm',
      command: [inside.node, join(root, 'bin', 'npm-cli.js'), ...args],
      env: {
        npm_config_cache: inside.downloads,
        npm_config_prefix: `${inside.home}/global`,
        npm_config_update_notifier: 'false',
        ...call.env,
      },
      registriesOnly: call.registriesOnly === true,
      ...(call.cwd === undefined ? {} : { cwd: call.cwd }),
      files: {
        // Without a local package.json, npm would use the nearest parent directory that has one.
        [`${inside.home}/.npmrc`]: `${npmrc}${certificates === '' ? '' : `cafile=${authorities}\n`}`,
        // npm trusts only the certificate authorities in its own setting.
        ...(certificates === '' ? {} : { [authorities]: [certificates, context.certificates].join('\n') }),
      },
      readOnlyPaths: [root, ...(call.readOnlyPaths ?? [])],
      registries,
      onLine: (line) => {
        if (!/^npm http fetch GET 200 .*\.tgz/.test(line)) return;
        downloads += 1;
        context.report(`downloaded ${downloads === 1 ? '1 package' : `${downloads} packages`}`);
      },
    },
    context,
  );
}

/** The directory that npm consists of. Version managers put a launcher on PATH, which knows where that is. */
export async function findNpm(context: Pick<InstallContext, 'env'>): Promise<string> {
  const missing = 'install Node.js, which includes npm: https://nodejs.org';
  const program = await requireProgram('npm', context, missing);
  const real = await realpath(program);
  if (real.endsWith('/bin/npm-cli.js')) return dirname(dirname(real));
  // By its name on PATH, from which launchers of version managers choose the program.
  const options = { cwd: '/', env: toolEnvironment(context.env) };
  const asked = promisify(execFile)(program, ['root', '--global'], options);
  const { stdout } = await asked.catch((error: unknown) => {
    const reason = /^\w*Error: .*/m.exec(messageOf(error))?.[0] ?? 'it ended with an error';
    throw unavailable(`${program} does not work: ${reason}`, { hint: missing, cause: error });
  });
  const root = join(await realpath(stdout.trim()).catch(() => '/'), 'npm');
  const isThere = await access(join(root, 'bin', 'npm-cli.js')).then(
    () => true,
    () => false,
  );
  if (isThere) return root;
  throw unavailable(`cannot find the npm files that ${program} starts`, { hint: missing });
}

/** What `npm view` prints: one version, or all that a range matches, oldest first. */
function newestOf(versions: unknown): string | undefined {
  const newest: unknown = Array.isArray(versions) ? versions.at(-1) : versions;
  return typeof newest === 'string' && exactVersion.test(newest) ? newest : undefined;
}

/** How the package in a directory of the folder is started. Reads its manifest, and runs nothing. */
export async function describeInstall(source: PackageSource, folder: string, root: string): Promise<Install> {
  const { name, version } = source;
  const manifest = await readPackageJson(folder, `${root}/package.json`);
  const file = `${root}/${innerPath(name, chooseBin(source, field(manifest, 'bin')))}`;
  const beginning = await requireProgramFile(name, folder, file);
  return { version: version ?? '', ...startOf(file, beginning), readOnlyPaths: [] };
}

/** How a program is started, by the beginning of its file. */
export function startOf(file: string, beginning: Buffer): Pick<Install, 'command' | 'args'> {
  return isScriptOfNode(beginning) ? { command: 'node', args: [file] } : { command: file, args: [] };
}

/** Which of a package's programs is the server: the one that the source names, the only one, or the one named like the package. */
export function chooseBin(source: PackageSource, bin: unknown): string {
  const { name, program } = source;
  const unscoped = name.replace(/^@[^/]*\//, '');
  const all = typeof bin === 'object' && bin !== null ? bin : { [unscoped]: bin };
  const bins = new Map(
    Object.entries(all).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
  // As npx does: several names of one file are one program.
  const [only, ...others] = new Set([...bins.values()].map((path) => posix.normalize(path)));
  const chosen = program === undefined && others.length === 0 ? only : bins.get(program ?? unscoped);
  if (chosen !== undefined) return chosen;
  if (bins.size === 0) {
    throw unsupported(`package ${name} has no program to run`, {
      hint: 'the package is a library rather than a server',
    });
  }
  throw severalPrograms(source, [...bins.keys()]);
}

/** A few packages ship a native binary or a shell script as their program. */
function isScriptOfNode(beginning: Buffer): boolean {
  const [firstLine = ''] = beginning.toString('latin1').split('\n');
  return (
    !firstLine.startsWith('\x7fELF') && (!firstLine.startsWith('#!') || /\b(node|bun|deno)\b/.test(firstLine))
  );
}

const network =
  /^(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOTCACHED|E50[234])$/;

/** What npm says of a dependency from outside the registry. */
const refusedSource = /^EALLOW(?:GIT|REMOTE|FILE|DIRECTORY)$/;

/** Why a package cannot be installed. npm does not say which dependency it has refused, so its manifest is asked. */
async function installFailure(
  source: PackageSource,
  result: ToolResult,
  context: InstallContext,
): Promise<ThvError> {
  if (refusedSource.test(npmError(result.stdout, result.stderr).code)) {
    const { stdout } = await npm(['view', specOf(source), '--json'], context);
    refuseOtherSourcesIn(source.name, parseJson(stdout), context);
  }
  return npmFailure(source, result);
}

const missingRelease = (source: PackageSource): ThvError =>
  source.version === undefined ? packageNotFound(source) : versionNotFound(source, source.version);

/** Summarizes npm's error in one line. */
export function npmFailure(
  source: PackageSource,
  { stdout, stderr }: Pick<ToolResult, 'stdout' | 'stderr'>,
): ThvError {
  const { code, summary, said } = npmError(stdout, stderr);
  const distrust = distrustIn(summary);
  if (distrust !== undefined) return distrust;
  const [, missing = source.name, range = source.version ?? 'latest'] =
    /(?:'|\bfor )(?!undefined@)(@?[^\s@']+)@([^\s']+)/.exec(said) ?? [];
  const dependency = missing === source.name ? undefined : missing;
  // npm says E404 for a version of an existing package that matches nothing, too.
  if (code === 'ETARGET' || (code === 'E404' && summary.startsWith('No match found'))) {
    return versionNotFound(source, range.replace(/\.$/, ''), dependency);
  }
  if (refusedSource.test(code)) return otherSource(source.name, summary);
  if (code === 'E404') return packageNotFound(source, dependency);
  if (network.test(code)) {
    return registryFailure(
      { reason: summary, said: `${code} ${summary}` },
      {
        check: 'check the network, the proxy settings and the registry in your .npmrc',
        timeouts: 'npm_config_fetch_timeout (300000 milliseconds)',
      },
    );
  }
  if (code === 'ENOSPC') return unavailable(`no space left to install ${source.name}`);
  return unavailable(`npm could not install ${source.name}: ${summary}`);
}

function npmError(stdout: string, stderr: string): Record<'code' | 'summary' | 'said', string> {
  const error = field(parseJson(stdout), 'error');
  const code = field(error, 'code') ?? /^npm (?:error|ERR!) code (\S+)$/m.exec(stderr)?.[1];
  const summary = field(error, 'summary');
  const [line = 'npm gave no reason'] =
    typeof summary === 'string' && summary !== '' ? summary.split('\n') : usefulLines(stderr);
  return {
    code: typeof code === 'string' ? code : '',
    summary: line.replace(/^(FetchError|Error): /, ''),
    said: [summary, field(error, 'detail')].filter((text) => typeof text === 'string').join('\n'),
  };
}

const usefulLines = (stderr: string) =>
  stderr
    .split('\n')
    .flatMap((line) => /^npm (?:error|ERR!) (?!code |errno |syscall )(.+)$/.exec(line)?.[1] ?? []);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
