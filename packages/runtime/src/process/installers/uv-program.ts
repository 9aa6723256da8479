import { execFile } from 'node:child_process';
import { open, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unavailable } from '@toolhive/contract/failure';
import { findProgram } from '../../programs.ts';
import { toolEnvironment, versionManagers } from '../../version-managers.ts';
import type { InstallContext } from './tool.ts';

const run = promisify(execFile);
const missing = 'install uv from https://docs.astral.sh/uv/ or with python3 -m pip install uv';

/** The path of the uv binary. Version managers put a script on PATH that finds the binary. */
export async function findUv({ env }: Pick<InstallContext, 'env'>): Promise<string> {
  const program = await findProgram('uv', env, defaultLocations(env));
  if (program === undefined) throw unavailable('uv is not installed', { hint: missing });
  const found = await realpath(program);
  if (!(await isLauncher(found))) return found;
  for (const name of versionManagers) {
    const manager = await findProgram(name, env, [dirname(found)]);
    if (manager === undefined) continue;
    const options = { cwd: '/', env: toolEnvironment(env) };
    const { stdout } = await run(manager, [name === 'proto' ? 'bin' : 'which', 'uv'], options).catch(() => ({
      stdout: '',
    }));
    const real = await realpath(stdout.trim()).catch(() => undefined);
    if (stdout.trim() !== '' && real !== undefined && !(await isLauncher(real))) return real;
  }
  throw unavailable(`cannot find the uv binary: ${program} is a launcher that starts it`, { hint: missing });
}

/**
 * The default directories of the uv installers. The PATH of a daemon that a desktop or a service started often lacks
 * them.
 */
function defaultLocations({ HOME = homedir(), XDG_BIN_HOME, CARGO_HOME }: NodeJS.ProcessEnv): string[] {
  return [
    ...(XDG_BIN_HOME === undefined ? [] : [XDG_BIN_HOME]),
    join(HOME, '.local', 'bin'),
    join(CARGO_HOME ?? join(HOME, '.cargo'), 'bin'),
    '/opt/homebrew/bin',
    '/usr/local/bin',
    '/home/linuxbrew/.linuxbrew/bin',
  ];
}

/** Whether a file starts uv rather than being uv: a script, or a link to the program of a version manager. */
async function isLauncher(path: string): Promise<boolean> {
  return versionManagers.includes(basename(path)) || (await isScript(path));
}

async function isScript(path: string): Promise<boolean> {
  await using file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('latin1') === '#!';
}
