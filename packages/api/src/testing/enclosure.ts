import dns from 'node:dns';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { isIP } from 'node:net';

/** A place out of which nothing gets by accident. */
export interface Enclosure extends AsyncDisposable {
  /** Every file below it and what it holds, without those in what is left out. */
  files: (leftOut: readonly string[]) => Promise<Record<string, string>>;
}

/** So deep that a path which climbs out of a home stays inside. */
const depth = 'a/b/c/d/e/f/g/h';

/**
 * Puts the folders that a process writes to by default (its home, its working directory and the one for temporary
 * files) into one that is new, and lets no name but `localhost` lead to an address.
 */
export async function enclose(): Promise<Enclosure> {
  const root = await mkdtemp(join(tmpdir(), 'thv-enclosure-'));
  const before = { cwd: process.cwd(), home: process.env['HOME'], temporary: process.env['TMPDIR'] };
  const inner = join(root, depth);
  for (const folder of ['home', 'cwd', 'tmp']) await mkdir(join(inner, folder), { recursive: true });
  process.chdir(join(inner, 'cwd'));
  Object.assign(process.env, { HOME: join(inner, 'home'), TMPDIR: join(inner, 'tmp') });
  if (!homedir().startsWith(inner) || !tmpdir().startsWith(inner))
    throw new Error('this system has other rules');
  const names = withoutNames();
  return {
    async files(leftOut) {
      const found = await readdir(root, { recursive: true, withFileTypes: true });
      const paths = found
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => leftOut.every((folder) => relative(folder, path).startsWith('..')));
      return Object.fromEntries(
        await Promise.all(paths.map(async (path) => [path, await readFile(path, 'utf8')])),
      );
    },
    async [Symbol.asyncDispose]() {
      names[Symbol.dispose]();
      process.chdir(before.cwd);
      restore('HOME', before.home);
      restore('TMPDIR', before.temporary);
      await rm(root, { recursive: true, force: true });
    },
  };
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

/** Both node:net and our own fetch find names through this function, which is not ours. */
function withoutNames(): Disposable {
  const { lookup } = dns;
  const nowhere = (host: string, ...rest: unknown[]): void => {
    const done = rest.at(-1) as (error: Error | null, address?: unknown, family?: number) => void;
    const address = host === 'localhost' ? '127.0.0.1' : host;
    const family = isIP(address);
    if (family === 0) {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
      process.nextTick(done, error);
    } else if ((rest[0] as { all?: boolean }).all === true)
      process.nextTick(done, null, [{ address, family }]);
    else process.nextTick(done, null, address, family);
  };
  Object.assign(dns, { lookup: nowhere });
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      Object.assign(dns, { lookup });
      syncBuiltinESMExports();
    },
  };
}
