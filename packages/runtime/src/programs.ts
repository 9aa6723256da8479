import { execFile } from 'node:child_process';
import { access, constants, realpath, stat } from 'node:fs/promises';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '@toolhive/contract/failure';
import { toolEnvironment } from './version-managers.ts';

const run = promisify(execFile);

/** The first executable file of that name on PATH, or else in one of the other directories. */
export async function findProgram(
  name: string,
  env: NodeJS.ProcessEnv,
  others: readonly string[] = [],
): Promise<string | undefined> {
  for (const folder of [...(env.PATH ?? '').split(delimiter), ...others]) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    if (await isExecutable(candidate)) return candidate;
  }
  return undefined;
}

/** A program's binary and the shared libraries outside the system directories that it needs to start. */
export interface Binary {
  path: string;
  libraries: string[];
}

/**
 * The Node.js that servers from npm run with: the daemon's own, or the one on PATH when the daemon is a single
 * executable.
 */
export async function findNode(env: NodeJS.ProcessEnv): Promise<Binary | undefined> {
  const path = basename(process.execPath) === 'node' ? process.execPath : await nodeOnPath(env);
  if (path === undefined) return undefined;
  return { path: await realpath(path), libraries: await librariesOf(path) };
}

/** Version managers put a small launcher on PATH. The binary itself knows its location. */
async function nodeOnPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const launcher = await findProgram('node', env);
  if (launcher === undefined) return undefined;
  const { stdout } = await run(launcher, ['-p', 'process.execPath'], { env: toolEnvironment(env) });
  return stdout.trim();
}

/** Throws `unavailable` if there is none. */
export function requireNode({ node }: { node: Binary | undefined }): Binary {
  if (node !== undefined) return node;
  throw unavailable('node is not installed', {
    hint: 'install Node.js from https://nodejs.org and add it to PATH',
  });
}

const systemFolder = /^\/(usr|lib|lib32|lib64|libx32)\//;

async function librariesOf(binary: string): Promise<string[]> {
  try {
    const { stdout } = await run('ldd', [binary], { env: { PATH: '/usr/bin:/bin' } });
    const paths = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path ?? '');
    return paths.filter((path) => !systemFolder.test(path));
  } catch {
    return []; // a static binary, or a system without ldd: the program starts without libraries, or its error names the missing one
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** How to install a program on the usual distributions. */
export const installWith = (packageName: string): string =>
  `install it with apt install ${packageName} (Debian, Ubuntu), dnf install ${packageName} (Fedora), or pacman -S ${packageName} (Arch)`;
