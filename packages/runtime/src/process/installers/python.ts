import { execFile } from 'node:child_process';
import { mkdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '@toolhive/contract/failure';
import { originsIn } from './registries.ts';
import { type InstallContext, runTool } from './tool.ts';
import { findUv } from './uv-program.ts';

const run = promisify(execFile);

/** A Python interpreter of this machine, and the part of the machine that it needs. */
export interface Python {
  path: string;
  /** Its installation, unless that is part of the system. */
  readOnlyPaths: string[];
}

/**
 * Finds the interpreter that a package is installed for, before anything of the package is here. Servers get the
 * directory of the interpreter, so no package may have a say in it. Without a suitable one on this machine,
 * uv downloads one, in a sandbox.
 */
export async function findPython(request: string | undefined, context: InstallContext): Promise<Python> {
  const path = (await ownPython(request, context)) ?? (await downloadedPython(request, context));
  const prefix = dirname(dirname(path));
  const isSystem = prefix === '/usr' || prefix.startsWith('/usr/');
  if (!isSystem) await refuseLargePrefix(path, prefix, context);
  return { path, readOnlyPaths: isSystem ? [] : [prefix] };
}

/** The user's own. uv starts interpreters that it finds on PATH to ask for their version, as it does for the user. */
async function ownPython(request: string | undefined, context: InstallContext): Promise<string | undefined> {
  const { PATH, HOME, UV_PYTHON } = context.env;
  const env = { PATH, HOME, UV_PYTHON, UV_PYTHON_PREFERENCE: 'only-system', UV_PYTHON_DOWNLOADS: 'never' };
  const args = ['python', 'find', '--no-project', '--no-config', '--system', ...(request ? [request] : [])];
  const uv = await findUv(context);
  const { stdout } = await run(uv, args, { cwd: '/', env }).catch(() => ({ stdout: '' }));
  return realpath(stdout.trim()).catch(() => undefined);
}

/** One that uv has downloaded for servers; it is shared by packages, and only this writes to it. */
async function downloadedPython(request: string | undefined, context: InstallContext): Promise<string> {
  const folder = join(context.cacheDir, '.python');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const uv = await findUv(context);
  const call = {
    name: 'uv',
    env: {
      UV_PYTHON_INSTALL_DIR: folder,
      UV_CACHE_DIR: `${folder}/.cache`,
      UV_PYTHON_BIN_DIR: `${folder}/.bin`,
    },
    readOnlyPaths: [uv],
    writable: { [folder]: folder },
  };
  const version = request === undefined ? [] : [request];
  context.report(`installing Python ${request ?? ''}`.trimEnd());
  const registries = originsIn([
    'https://github.com',
    'https://releases.astral.sh',
    context.env['UV_PYTHON_INSTALL_MIRROR'],
  ]);
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
  const [reason = 'it gave no reason'] = /^error: (.+)/m.exec(installing.stderr)?.slice(1) ?? [];
  throw unavailable(
    `no suitable Python ${request ?? ''} is installed, and uv could not install one: ${reason}`,
    {
      hint: `install Python ${request ?? '3'} and make sure that it is on PATH`,
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
    hint: 'install Python in a directory of its own, and make sure that it is on PATH',
  });
}
