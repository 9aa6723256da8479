import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, rename, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Pinned, so that later runs need no package index to find it. */
const uvVersion = '0.13.9';

/**
 * A directory that keeps installed packages between test runs, so that only the first run needs the package registries.
 * `THV_TEST_PACKAGE_CACHE` names another one, for example for the cache of a CI service.
 */
export const cacheDirectory =
  process.env['THV_TEST_PACKAGE_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'toolhive-tests');

/**
 * The directory with `uv` for all tests, which is installed once. Each installation takes four seconds of a processor.
 * Another test run may install it at the same time.
 */
export async function uvPrograms(): Promise<string> {
  const place = join(cacheDirectory, `uv-${uvVersion}`);
  if (!(await exists(place))) await installUv(place);
  return join(place, 'bin');
}

async function installUv(place: string): Promise<void> {
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
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
