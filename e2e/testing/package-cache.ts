import { delimiter, join } from 'node:path';
import { cacheDirectory, uvPrograms } from '@toolhive/runtime/testing/uv';
import { publicRegistries } from './thv.ts';

/** The environment of a user whose packages are installed in the cache, with uv on PATH. */
export async function cachedPackages(): Promise<NodeJS.ProcessEnv> {
  return {
    ...publicRegistries(),
    XDG_CACHE_HOME: cacheDirectory,
    npm_config_prefer_offline: 'true',
    PATH: await pathWithUv(),
  };
}

/** The packages that the documentation installs, shared by all pages and kept for later runs. */
export const docsCache = join(cacheDirectory, 'docs');

/** A PATH that begins with uv. */
export const pathWithUv = async (): Promise<string> =>
  [await uvPrograms(), process.env['PATH']].join(delimiter);
