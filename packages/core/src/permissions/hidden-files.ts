import { lstat, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import type { Blanks, HiddenPath } from '@toolhive/runtime/hidden-path';
import { pinSource, verifySource } from '@toolhive/runtime/mount-source';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { Unsearchable, walkDirectory } from '@toolhive/runtime/directory-walk';
import type { HiddenMemory, Remembered, Whereabouts } from './hidden-memory.ts';
import { localIgnoreFile, readGlobalRules, readLocalRules } from './ignore-rules.ts';
import type { IgnoreRules } from './ignore-rules.ts';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { isWithin } from './mounts.ts';

export interface HideOptions {
  /** The user's ignore file. Undefined if it does not apply. */
  ignoreFile: string | undefined;
  blanks: Blanks;
  /** The workload, and the files that were hidden from it before. */
  workload: WorkloadId;
  memory: HiddenMemory;
  /** The directories that are mounted for other workloads: the server must not change their ignore files. */
  others: readonly string[];
}

/** A server's view of its granted directories. */
export interface VisibleMounts {
  /** The mounts. One whose ignore files cannot be applied is an empty directory instead. */
  mounts: readonly PinnedMount[];
  hidden: readonly HiddenPath[];
  /** Whether an ignore file applies to any of the mounts. */
  hasRules: boolean;
  /** What the user should know, each continuing the name of the workload. */
  warnings: readonly string[];
}

const MAX_HIDDEN = 1_000;

/**
 * Finds the files in mounted directories that ignore files hide. Servers may be writing to these directories, but
 * nothing that they write can reveal a file that the user hides, or prevent the start. Throws `conflict` if a mount
 * has changed since the grant, or if the user's ignore file cannot be applied.
 */
export async function hideFiles(
  mounts: readonly PinnedMount[],
  { ignoreFile, blanks, workload, memory, others }: HideOptions,
): Promise<VisibleMounts> {
  await Promise.all(mounts.map(verifySource));
  const global = ignoreFile === undefined ? undefined : await readGlobalRules(ignoreFile);
  const searches = await Promise.all(mounts.map((mount) => Search.open(mount, mounts, global)));
  const hasRules = searches.some((search) => search.hasRules);
  const remembered = await memory.of(workload);
  for (const search of searches) await search.run(remembered);
  const shownAgain = new Set(searches.flatMap((search) => [...search.shownAgain]));
  for (const search of searches) await search.hideMovedNames(shownAgain);
  const linked = new Set(searches.flatMap((search) => [...search.linked]));
  if (linked.size > 0) for (const search of searches) await search.lookIntoHidden(linked);
  // The same file may have further names, also in another mount.
  const aliases = new Map(searches.flatMap((search) => [...search.aliases]));
  if (aliases.size > 0) for (const search of searches) await search.findAliases(aliases);
  const whereabouts = await memory.whereabouts(workload);
  for (const search of searches) await search.hideMoved(whereabouts, remembered);
  const sources = [...others, ...mounts.map(({ pin }) => pin.path)];
  for (const search of searches) await search.hideIgnoreFiles(sources);
  refuseMany(searches);
  const known = searches.flatMap((search) => [...search.known(remembered, whereabouts)]);
  await memory.store(
    workload,
    Object.fromEntries(known.map(({ identity, first }) => [identity, first])),
    known.map(({ identity, now }) => ({ identity, path: now })),
  );
  const hidden = searches.flatMap((search) => search.hidden(blanks));
  return { hidden, hasRules, ...(await visibleOf(searches, hidden, blanks)) };
}

function refuseMany(searches: readonly Search[]): void {
  let total = 0;
  for (const search of searches) {
    total += search.count;
    if (total > MAX_HIDDEN)
      search.problem ??= `more than ${MAX_HIDDEN} files are to be hidden: hide the directories that contain them`;
  }
}

/** Replaces directories that cannot be searched, and omits mounts inside hidden directories. */
async function visibleOf(
  searches: readonly Search[],
  hidden: readonly HiddenPath[],
  blanks: Blanks,
): Promise<Pick<VisibleMounts, 'mounts' | 'warnings'>> {
  const pin = await pinSource(blanks.directory);
  const sealed = searches.filter(({ problem }) => problem !== undefined).map(({ mount }) => mount);
  const empty = [...hidden, ...sealed].map(({ target }) => target);
  const mounts: PinnedMount[] = [];
  const warnings: string[] = [];
  for (const { mount, problem } of searches) {
    const around = empty.find((target) => target !== mount.target && isWithin(mount.target, target));
    if (around !== undefined)
      warnings.push(`the server cannot see ${mount.source}, because ${around} is hidden`);
    else if (problem === undefined) mounts.push(mount);
    else {
      warnings.push(`the server sees an empty directory instead of ${mount.source}: ${problem}`);
      mounts.push({ source: pin.path, pin, target: mount.target, readOnly: true });
    }
  }
  return { mounts, warnings };
}

/** A file's or directory's identity in the file system, independent of its name. */
interface Identified {
  dev: bigint;
  ino: bigint;
  birthtimeNs: bigint;
  isDirectory: () => boolean;
}

/** A name to hide. */
interface Found {
  entry: Identified;
  /** The path at which the file matched. Of another name for the same file, this is not its own path. */
  matched: string;
}

/** A file that is created later can get the number of one that was deleted. */
const identityOf = ({ dev, ino, birthtimeNs }: Identified): string => `${dev}:${ino}:${birthtimeNs}`;

/** A name of a hidden file in memory: the path at which the file matched first, and the current path of the name. */
interface Known {
  identity: string;
  first: string;
  now: string;
}

/** The search for files to hide in one mount. */
class Search {
  readonly mount: PinnedMount;
  /** The hidden files that may have further names: the path at which each matched, by identity. */
  readonly aliases = new Map<string, string>();
  /** The identities of remembered files that no pattern matches any more at the path at which they matched. */
  readonly shownAgain = new Set<string>();
  /** The identities of visible files with several names, some of which may be in hidden directories. */
  readonly linked = new Set<string>();
  /** Why the rules cannot be applied. */
  problem: string | undefined;
  readonly #rules: readonly IgnoreRules[];
  /** Other mounts inside this one, relative to it. */
  readonly #inner: readonly string[];
  readonly #isOnly: boolean;
  /** The identities of files that need not be hidden. */
  readonly #shown = new Set<string>();
  /** What to hide, by the path in the mounted directory. */
  readonly #found = new Map<string, Found>();
  /** Remembered files at a path that no pattern matches. */
  readonly #moved = new Map<string, Found & { isExact: boolean }>();

  private constructor(mount: PinnedMount, all: readonly PinnedMount[], rules: readonly IgnoreRules[]) {
    this.mount = mount;
    this.#rules = rules;
    this.#isOnly = all.length === 1;
    this.#inner = all
      .filter(({ target }) => target !== mount.target && isWithin(target, mount.target))
      .map(({ target }) => relative(mount.target, target));
  }

  /** A single granted file is not subject to the rules, because the user named it. */
  static async open(
    mount: PinnedMount,
    all: readonly PinnedMount[],
    global: IgnoreRules | undefined,
  ): Promise<Search> {
    if (!(await stat(mount.pin.path)).isDirectory()) return new Search(mount, all, []);
    const rules = global === undefined ? [] : [global];
    try {
      const local = await readLocalRules(mount.pin.path);
      return new Search(mount, all, local === undefined ? rules : [...rules, local]);
    } catch (error) {
      const search = new Search(mount, all, rules);
      search.problem = `${join(mount.source, localIgnoreFile)} cannot be applied: ${messageOf(error)}`;
      return search;
    }
  }

  get hasRules(): boolean {
    return this.#rules.length > 0 || this.problem !== undefined;
  }

  get count(): number {
    return this.#found.size;
  }

  /** Searches for files that match the rules, and for remembered files. */
  async run(remembered: Remembered): Promise<void> {
    if (this.#rules.length === 0) return;
    await this.#walk(async ({ path, place, isExact, isDirectory, isLink }) => {
      const kinds = isLink ? [false, true] : [isDirectory];
      const matches = this.#rules.some((hides) => kinds.some((kind) => hides(path, kind)));
      const entry = await (isLink ? stat : lstat)(place, { bigint: true }).catch(() => undefined);
      if (entry === undefined) return; // removed since, or a link that leads nowhere
      const identity = identityOf(entry);
      const own = this.#onMachine(path);
      const first = Object.hasOwn(remembered, identity) ? remembered[identity] : undefined;
      if (matches) {
        if (isLink || entry.nlink > 1n || !this.#isOnly) this.aliases.set(identity, first ?? own);
        if (!isLink) this.#hide(path, { entry, matched: first ?? own }, isExact);
      } else if (first === own) this.shownAgain.add(identity);
      else if (isLink) return;
      else if (first !== undefined) this.#moved.set(path, { entry, matched: first, isExact });
      if (matches || isLink || first !== undefined) return;
      this.#shown.add(identity);
      if (!isDirectory && entry.nlink > 1n) this.linked.add(identity);
    });
  }

  /**
   * Hides remembered files that are at another path now, or have another name. After the user changed the rules, the
   * file is still at the path at which it matched, and is shown under all of its names.
   */
  async hideMovedNames(shownAgain: ReadonlySet<string>): Promise<void> {
    if (this.problem !== undefined) return;
    for (const [path, { entry, matched, isExact }] of this.#moved) {
      const identity = identityOf(entry);
      if (shownAgain.has(identity)) {
        this.#shown.add(identity);
        continue;
      }
      await this.#orProblem(async () => this.#hide(path, { entry, matched }, isExact));
      this.aliases.set(identity, matched);
    }
    for (const identity of this.shownAgain) this.#shown.add(identity);
  }

  /** Searches hidden directories for files that have visible names, too. */
  async lookIntoHidden(linked: ReadonlySet<string>): Promise<void> {
    const directories = [...this.#found].filter(([, { entry }]) => entry.isDirectory());
    for (const [directory] of directories) {
      await this.#walk(async ({ path, place, isLink }) => {
        const entry = isLink ? undefined : await lstat(place, { bigint: true }).catch(() => undefined);
        const identity = entry && identityOf(entry);
        if (identity !== undefined && linked.has(identity))
          this.aliases.set(identity, this.#onMachine(join(directory, path)));
      }, directory);
    }
  }

  /** Searches for further names of hidden files. */
  async findAliases(aliases: ReadonlyMap<string, string>): Promise<void> {
    if (!(await stat(this.mount.pin.path)).isDirectory()) return;
    await this.#walk(async ({ path, place, isExact, isLink }) => {
      const entry = isLink ? undefined : await lstat(place, { bigint: true }).catch(() => undefined);
      const matched = entry && aliases.get(identityOf(entry));
      if (entry !== undefined && matched !== undefined) this.#hide(path, { entry, matched }, isExact);
    });
  }

  /** Hides names that escaped the search because they were moved in the meantime. */
  async hideMoved(whereabouts: Whereabouts, remembered: Remembered): Promise<void> {
    if (this.#rules.length === 0 || this.problem !== undefined) return;
    const found = new Set([
      ...[...this.#found.values()].map(({ entry }) => identityOf(entry)),
      ...this.#shown,
    ]);
    for (const { identity, path: place } of whereabouts) {
      if (found.has(identity) || !isWithin(place, this.mount.pin.path)) continue;
      const entry = await lstat(place, { bigint: true }).catch(() => undefined);
      const path = relative(this.mount.pin.path, place);
      const matched = remembered[identity] ?? place;
      if (entry !== undefined && identityOf(entry) === identity) this.#hide(path, { entry, matched });
      else this.problem = `${place} was moved while hidden files were searched for`;
    }
  }

  /** The files to remember. After a failed search, the previously remembered files. */
  known(remembered: Remembered, whereabouts: Whereabouts): Known[] {
    if (this.problem === undefined) {
      return [...this.#found].map(([path, { entry, matched }]) => ({
        identity: identityOf(entry),
        now: this.#onMachine(path),
        first: matched,
      }));
    }
    return Object.entries(remembered)
      .filter(([, first]) => isWithin(first, this.mount.pin.path))
      .flatMap(([identity, first]) => {
        const names = whereabouts.filter((one) => one.identity === identity).map(({ path }) => path);
        return (names.length === 0 ? [first] : names).map((now) => ({ identity, first, now }));
      });
  }

  /**
   * Hides the ignore files in mounted directories, so that no server can decide which files are hidden from it or
   * from others.
   */
  async hideIgnoreFiles(sources: readonly string[]): Promise<void> {
    const root = this.mount.pin.path;
    for (const source of new Set(sources)) {
      const directory = await realpath(source).catch(() => source);
      if (!isWithin(directory, root)) continue;
      const file = join(directory, localIgnoreFile);
      const entry = await lstat(file, { bigint: true }).catch(() => undefined);
      if (entry?.isFile() === true) this.#hide(relative(root, file), { entry, matched: file });
    }
  }

  hidden(blanks: Blanks): HiddenPath[] {
    if (this.problem !== undefined) return [];
    return [...this.#found].flatMap(([path, { entry }]) => {
      if (this.#isCovered(path)) return [];
      return [
        {
          target: join(this.mount.target, path),
          blank: entry.isDirectory() ? blanks.directory : blanks.file,
          covers: {
            path: this.#onMachine(path),
            device: String(entry.dev),
            inode: String(entry.ino),
          },
        },
      ];
    });
  }

  /** Whether the server sees something else at a path anyway: another mount, or nothing. */
  #isCovered(path: string): boolean {
    const isHidden = [...this.#found.keys()].some((other) => path.startsWith(`${other}/`));
    return isHidden || this.#inner.some((inner) => path === inner || path.startsWith(`${inner}/`));
  }

  #onMachine(path: string): string {
    return join(this.mount.pin.path, path);
  }

  #hide(path: string, found: Found, isExact = true): void {
    if (!isExact) throw new Unsearchable('a file to hide has a name that is not UTF-8');
    this.#found.set(path, found);
  }

  /** Visits everything in the mounted directory that is not hidden, or everything in a hidden directory. */
  async #walk(visit: Parameters<typeof walkDirectory>[1]['visit'], inside?: string): Promise<void> {
    if (this.problem !== undefined) return;
    await this.#orProblem(() =>
      walkDirectory(this.#onMachine(inside ?? ''), {
        visit,
        skips: (path) => inside === undefined && (this.#found.has(path) || this.#moved.has(path)),
        onUnreadable: ({ path, isExact }, entry) => {
          // The server may run as another user, who can read the directory.
          if (inside === undefined) this.#hide(path, { entry, matched: this.#onMachine(path) }, isExact);
        },
      }),
    );
  }

  async #orProblem(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.problem =
        error instanceof Unsearchable
          ? error.message
          : `the directory cannot be searched: ${messageOf(error)}`;
    }
  }
}
