import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, rename, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { publicRegistries } from './thv.ts';

/** Pinned, so that later runs need no package index to find it. */
const uvVersion = '0.13.9';

/**
 * A directory that keeps installed packages between test runs, so that only the first run needs the package registries.
 * `THV_TEST_PACKAGE_CACHE` names another one, for example for the cache of a CI service.
 */
export const cacheDirectory =
  process.env['THV_TEST_PACKAGE_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'toolhive-tests');

/** The environment of a user whose packages are installed in the cache, with uv on PATH. */
export async function cachedPackages(): Promise<NodeJS.ProcessEnv> {
  const programs = join(await cachedUv(), 'bin');
  return {
    ...publicRegistries(),
    XDG_CACHE_HOME: cacheDirectory,
    npm_config_prefer_offline: 'true',
    PATH: [programs, process.env['PATH']].join(delimiter),
  };
}

/** Downloads uv unless it is there. Another test run may do the same now. */
async function cachedUv(): Promise<string> {
  const place = join(cacheDirectory, `uv-${uvVersion}`);
  if (await exists(place)) return place;
  await mkdir(cacheDirectory, { recursive: true });
  await using staged = await mkdtempDisposable(join(cacheDirectory, 'staged-'));
  const folder = join(staged.path, 'uv');
  const install = ['-m', 'pip', 'install', '--quiet', '--target', folder, `uv==${uvVersion}`];
  await promisify(execFile)('python3', install).catch((error: unknown) => {
    throw new Error('the package index, not a server: cannot install uv', { cause: error });
  });
  await rename(folder, place).catch(async (error: unknown) => {
    if (!(await exists(place))) throw error;
  });
  return place;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
