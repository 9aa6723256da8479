import type { Stats } from 'node:fs';
import { type FileHandle, lstat, opendir, readlink } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { cancelled, conflict, tooLarge, unsupported } from '@toolhive/contract/failure';
import { openInner } from './inner-file.ts';

/** A file or symbolic link in a directory. The file is open only until the next entry is requested. */
export type LocalEntry =
  | { kind: 'file'; path: string; file: FileHandle; size: number; isExecutable: boolean }
  | { kind: 'link'; path: string; target: string };

export const localLimits = { bytes: 256 * 1024 * 1024, entries: 20_000, depth: 32 };

/** Files that are installed again, that no server needs, or that usually contain credentials or choose registries. */
const leftOut: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.venv',
  'venv',
  '__pycache__',
  '.env',
  '.npmrc',
  '.netrc',
  '.pypirc',
]);

/**
 * Lists the files in a directory that other programs may change in the meantime, in a fixed order. `title` names the
 * directory in errors. Throws `too-large` beyond `localLimits`, `unsupported` for a special file or a link out of the
 * directory, and `conflict` for a file that was replaced after the listing. Nothing outside the directory is ever
 * opened.
 */
export async function* localEntries(
  folder: string,
  title: string,
  signal?: AbortSignal,
): AsyncGenerator<LocalEntry> {
  const budget = new Budget(title);
  const folders = [{ path: '', depth: 0 }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const { path: parent, depth } = next;
    if (depth > localLimits.depth)
      throw exceeds(title, `has directories deeper than ${localLimits.depth} levels`);
    for (const name of await namesIn(join(folder, parent), budget)) {
      if (signal?.aborted === true) throw cancelled('the installation was cancelled');
      const path = join(parent, name);
      const found = await lstat(join(folder, path)).catch(() => undefined);
      if (found === undefined) throw replaced(join(title, path));
      if (found.isDirectory()) folders.push({ path, depth: depth + 1 });
      else if (found.isSymbolicLink()) {
        const target = await readlink(join(folder, path));
        if (isAbsolute(target) || normalize(join(parent, target)).startsWith('..'))
          throw leadsOut(title, path);
        yield { kind: 'link', path, target };
      } else if (found.isFile()) {
        await using file = await openInner(folder, path);
        if (file === undefined) throw replaced(join(title, path));
        const { size, mode } = await file.stat();
        budget.take(size);
        yield { kind: 'file', path, file, size, isExecutable: (mode & 0o111) !== 0 };
      } else {
        throw unsupported(`${join(title, path)} is ${kindOf(found)}, not a file`, {
          hint: `move the file out of ${title}`,
        });
      }
    }
  }
}

/** Throws `too-large` for a file that exceeds the limit of a whole directory. */
export function requireSmall(title: string, size: number): void {
  new Budget(title).take(size);
}

/** What may still be read of a directory. */
class Budget {
  readonly #title: string;
  #bytes = localLimits.bytes;
  #entries = localLimits.entries;

  constructor(title: string) {
    this.#title = title;
  }

  take(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes < 0) throw exceeds(this.#title, `is larger than ${localLimits.bytes / 1024 ** 2} MiB`);
  }

  count(): void {
    this.#entries -= 1;
    if (this.#entries < 0) throw exceeds(this.#title, `contains more than ${localLimits.entries} files`);
  }
}

async function namesIn(folder: string, budget: Budget): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder)) {
    if (leftOut.has(name)) continue;
    budget.count();
    names.push(name);
  }
  return names.toSorted();
}

const exceeds = (title: string, how: string) =>
  tooLarge(`${title} ${how}`, { hint: `specify only the package directory` });

/** A link that leads out of the directory `title`. */
export const leadsOut = (title: string, path: string) =>
  unsupported(`${join(title, path)} is a symbolic link that leads out of ${title}`, {
    hint: 'replace the link with its target',
  });

const replaced = (path: string) => conflict(`${path} was replaced while being read`, { hint: 'try again' });

function kindOf(found: Stats): string {
  if (found.isFIFO()) return 'a named pipe';
  if (found.isSocket()) return 'a socket';
  return 'a device';
}
