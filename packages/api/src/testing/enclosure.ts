import dns from 'node:dns';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** A place out of which nothing gets by accident. */
export interface Enclosure extends AsyncDisposable {
  /** Every file below it, without those in the folders that are left out. */
  files: (...leftOut: string[]) => Promise<string[]>;
  /** The host names that were looked up. No query for them left this machine. */
  lookups: string[];
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
  if (!homedir().startsWith(inner) || !tmpdir().startsWith(inner)) throw new Error('this system has other rules');
  const names = withoutNames();
  return {
    lookups: names.lookups,
    async files(...leftOut) {
      const found = await readdir(root, { recursive: true, withFileTypes: true });
      return found
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((path) => leftOut.every((folder) => relative(folder, path).startsWith('..')));
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

type Lookup = (
  host: string,
  options: { all?: boolean },
  done: (error: Error | null, address?: unknown, family?: number) => void,
) => void;

/** Both node:net and our own fetch find names through this function, which is not ours. */
function withoutNames(): { lookups: string[] } & Disposable {
  const { lookup } = dns;
  const lookups: string[] = [];
  const nowhere: Lookup = (host, { all = false }, done) => {
    lookups.push(host);
    const address = { address: '127.0.0.1', family: 4 };
    if (host !== 'localhost') {
      const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
      process.nextTick(() => done(error, all ? [] : undefined));
    } else process.nextTick(() => (all ? done(null, [address]) : done(null, address.address, address.family)));
  };
  Object.assign(dns, { lookup: nowhere });
  syncBuiltinESMExports();
  return {
    lookups,
    [Symbol.dispose]() {
      Object.assign(dns, { lookup });
      syncBuiltinESMExports();
    },
  };
}
