import { realpath, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';

/** A file or directory that others can write. */
interface Writable {
  path: string;
  /** Where the path has led when the access was granted. By default, where it leads now. */
  place?: string | undefined;
}

/** The environment without the directories of PATH whose programs others can replace, and these directories. */
export async function withoutReplaceable(
  env: NodeJS.ProcessEnv,
  writable: readonly Writable[],
): Promise<{ env: NodeJS.ProcessEnv; leftOut: string[] }> {
  const folders = (env['PATH'] ?? '').split(delimiter);
  const granted = writable.map(async ({ path, place }) => [path, place ?? (await placeOf(path))]);
  const places = (await Promise.all(granted)).flat();
  const files = new Set<string>();
  for (const place of places) if (await isFile(place)) files.add(dirname(place));
  const areReplaceable = await Promise.all(
    folders.map(async (folder) => {
      // Programs are searched for in absolute directories only.
      if (!isAbsolute(folder)) return false;
      const names = [folder, await placeOf(folder)];
      return names.some((name) => files.has(name) || places.some((place) => isWithin(name, place)));
    }),
  );
  const leftOut = folders.filter((_, index) => areReplaceable[index] === true);
  if (leftOut.length === 0) return { env, leftOut };
  const kept = folders.filter((_, index) => areReplaceable[index] !== true);
  return { env: { ...env, PATH: kept.join(delimiter) }, leftOut };
}

/** Where a path leads, also if only directories above it exist so far. */
async function placeOf(path: string): Promise<string> {
  const found = await realpath(path).catch(() => undefined);
  if (found !== undefined || dirname(path) === path) return found ?? path;
  return join(await placeOf(dirname(path)), basename(path));
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

const isWithin = (path: string, directory: string): boolean =>
  `${path}/`.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
