import { execFile } from 'node:child_process';
import { mkdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '@toolhive/contract/failure';
import { keptPythons, toolEnvironment } from '../../version-managers.ts';
import { originsIn } from './registries.ts';
import { type InstallContext, runTool } from './tool.ts';
import { findUv } from './uv-program.ts';

const run = promisify(execFile);

/** A Python interpreter on this machine, and the directory that it needs. */
export interface Python {
  path: string;
  /** Its installation, unless that is part of the system. */
  readOnlyPaths: string[];
}

/**
 * Finds the interpreter for a package before any of the package is downloaded. Servers receive the interpreter's
 * directory, so no package may influence the choice. If this machine has no suitable interpreter, uv downloads one in
 * a sandbox.
 */
export async function findPython(
  request: string | undefined,
  context: InstallContext,
  { orNewer = false }: { orNewer?: boolean } = {},
): Promise<Python> {
  const path =
    (await ownPython(request, context)) ??
    (orNewer ? await ownPython(`>=${request}`, context) : undefined) ??
    (await downloadedPython(request, context));
  const prefix = dirname(dirname(path));
  const isSystem = prefix === '/usr' || prefix.startsWith('/usr/');
  if (!isSystem) await refuseLargePrefix(path, prefix, context);
  return { path, readOnlyPaths: isSystem ? [] : [prefix] };
}

/**
 * The user's own interpreter: the first on PATH that is suitable, or one that a version manager keeps but does not offer
 * on PATH. There, the launcher of such a version fails, and uv gives up at the first failure.
 */
async function ownPython(request: string | undefined, context: InstallContext): Promise<string | undefined> {
  const onPath = await pythonOn(context.env['PATH'], request, context);
  if (onPath !== undefined || request === undefined) return onPath;
  const kept = await keptPythons(context.env);
  return kept.length === 0 ? undefined : pythonOn(kept.join(delimiter), request, context);
}

/** uv starts the interpreters of a search path to read their versions, as it does for the user. */
async function pythonOn(
  PATH: string | undefined,
  request: string | undefined,
  context: InstallContext,
): Promise<string | undefined> {
  const { UV_PYTHON } = context.env;
  const env = {
    ...toolEnvironment(context.env),
    PATH,
    UV_PYTHON,
    UV_PYTHON_PREFERENCE: 'only-system',
    UV_PYTHON_DOWNLOADS: 'never',
  };
  const args = ['python', 'find', '--no-project', '--no-config', '--system', ...(request ? [request] : [])];
  const uv = await findUv(context);
  const { stdout } = await run(uv, args, { cwd: '/', env }).catch(() => ({ stdout: '' }));
  return realpath(stdout.trim()).catch(() => undefined);
}

/** An interpreter that uv downloaded for servers. Packages share it, and only this function writes to it. */
async function downloadedPython(request: string | undefined, context: InstallContext): Promise<string> {
  const folder = join(context.cacheDir, '.python');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const uv = await findUv(context);
  const mirror = context.env['UV_PYTHON_INSTALL_MIRROR'];
  const call = {
    name: 'uv',
    env: {
      UV_PYTHON_INSTALL_DIR: folder,
      UV_CACHE_DIR: `${folder}/.cache`,
      UV_PYTHON_BIN_DIR: `${folder}/.bin`,
      ...(mirror === undefined ? {} : { UV_PYTHON_INSTALL_MIRROR: mirror }),
    },
    readOnlyPaths: [uv],
    writable: { [folder]: folder },
  };
  const version = request === undefined ? [] : [request];
  context.report(`installing Python ${request ?? ''}`.trimEnd());
  const registries = originsIn(['https://github.com', 'https://releases.astral.sh', mirror]);
  const installing = await runTool(
    {
      ...call,
      command: [uv, 'python', 'install', ...version, '--color', 'never', '--no-progress'],
      registries,
    },
    context,
  );
  const finding = {
    ...call,
    command: [uv, 'python', 'find', '--managed-python', '--no-project', ...version],
  };
  const { stdout } = await runTool(finding, context);
  const path = await realpath(stdout.trim()).catch(() => undefined);
  const root = await realpath(folder);
  if (path !== undefined && path.startsWith(`${root}/cpython-`)) return path;
  const [reason = 'uv gave no reason'] = /^error: (.+)/m.exec(installing.stderr)?.slice(1) ?? [];
  throw unavailable(
    `no suitable Python ${request ?? ''} is installed, and uv could not install one: ${reason}`,
    {
      hint: `install Python ${request ?? '3'} and add it to PATH. If https://github.com is blocked, set UV_PYTHON_INSTALL_MIRROR for the daemon instead`,
    },
  );
}

/** A server reads all of an interpreter's directory, so that must contain neither a home directory nor our own files. */
async function refuseLargePrefix(
  path: string,
  prefix: string,
  { cacheDir, place, env }: InstallContext,
): Promise<void> {
  const others = [env['HOME'] ?? homedir(), cacheDir, place.tempDir];
  const real = await Promise.all(others.map((other) => realpath(other).catch(() => other)));
  if (prefix !== '/' && !real.some((other) => `${other}/`.startsWith(`${prefix}/`))) return;
  throw unavailable(`the Python interpreter ${path} is installed in ${prefix}, which servers may not read`, {
    hint: 'install Python in a separate directory, and add it to PATH',
  });
}
