import { lstat, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import type { Blanks, HiddenPath } from '@toolhive/runtime/hidden-path';
import { pinSource, verifySource } from '@toolhive/runtime/mount-source';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { Unsearchable, walkDirectory } from './directory-walk.ts';
import type { HiddenMemory, Remembered } from './hidden-memory.ts';
import { localIgnoreFile, readGlobalRules, readLocalRules } from './ignore-rules.ts';
import type { IgnoreRules } from './ignore-rules.ts';
import type { WorkloadId } from '../state/workload-id.ts';
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
  // The same file may have further names, also in another mount.
  const aliases = new Set(searches.flatMap((search) => [...search.aliases]));
  if (aliases.size > 0) for (const search of searches) await search.findAliases(aliases);
  const whereabouts = await memory.whereabouts(workload);
  for (const search of searches) await search.hideMoved(whereabouts);
  const sources = [...others, ...mounts.map(({ pin }) => pin.path)];
  for (const search of searches) await search.hideIgnoreFiles(sources);
  refuseMany(searches);
  const known = searches.flatMap((search) => [...search.known(remembered, whereabouts)]);
  await memory.store(
    workload,
    Object.fromEntries(known.map(({ identity, first }) => [identity, first])),
    new Map(known.map(({ identity, now }) => [identity, now])),
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

/** A file that is created later can get the number of one that was deleted. */
const identityOf = ({ dev, ino, birthtimeNs }: Identified): string => `${dev}:${ino}:${birthtimeNs}`;

/** A hidden file in memory: its first path and its current path. */
interface Known {
  identity: string;
  first: string;
  now: string;
}

/** The search for files to hide in one mount. */
class Search {
  readonly mount: PinnedMount;
  /** The identities of hidden files that may have further names. */
  readonly aliases = new Set<string>();
  /** Why the rules cannot be applied. */
  problem: string | undefined;
  readonly #rules: readonly IgnoreRules[];
  /** Other mounts inside this one, relative to it. */
  readonly #inner: readonly string[];
  readonly #isOnly: boolean;
  /** The identities of files that need not be hidden. */
  readonly #shown = new Set<string>();
  /** What to hide, by the path in the mounted directory. */
  readonly #found = new Map<string, Identified>();

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

  /**
   * Searches for files that match the rules, now or at the path at which they were first found. A file that is still
   * at that path is hidden only if it matches, because in that case the user changed the rules.
   */
  async run(remembered: Remembered): Promise<void> {
    if (this.#rules.length === 0) return;
    const hasMoved = (path: string, entry: Identified): boolean => {
      const identity = identityOf(entry);
      return Object.hasOwn(remembered, identity) && remembered[identity] !== this.#onMachine(path);
    };
    const remembersAny = Object.keys(remembered).length > 0;
    await this.#walk(async ({ path, place, isExact, isDirectory, isLink }) => {
      const kinds = isLink ? [false, true] : [isDirectory];
      const matches = this.#rules.some((hides) => kinds.some((kind) => hides(path, kind)));
      if (!matches && (isLink || !remembersAny)) return;
      const entry = await (isLink ? stat : lstat)(place, { bigint: true }).catch(() => undefined);
      if (entry === undefined) return; // removed since, or a link that leads nowhere
      if (!matches && !hasMoved(path, entry)) {
        this.#shown.add(identityOf(entry));
        return;
      }
      if (isLink || entry.nlink > 1n || !this.#isOnly) this.aliases.add(identityOf(entry));
      if (!isLink) this.#hide(path, entry, isExact);
    });
  }

  /** Searches for further names of hidden files. */
  async findAliases(aliases: ReadonlySet<string>): Promise<void> {
    if (!(await stat(this.mount.pin.path)).isDirectory()) return;
    await this.#walk(async ({ path, place, isExact, isLink }) => {
      const entry = isLink ? undefined : await lstat(place, { bigint: true }).catch(() => undefined);
      if (entry !== undefined && aliases.has(identityOf(entry))) this.#hide(path, entry, isExact);
    });
  }

  /** Hides files that escaped the search because they were moved in the meantime. */
  async hideMoved(whereabouts: ReadonlyMap<string, string>): Promise<void> {
    if (this.#rules.length === 0 || this.problem !== undefined) return;
    const found = new Set([...[...this.#found.values()].map(identityOf), ...this.#shown]);
    for (const [identity, place] of whereabouts) {
      if (found.has(identity) || !isWithin(place, this.mount.pin.path)) continue;
      const entry = await lstat(place, { bigint: true }).catch(() => undefined);
      const path = relative(this.mount.pin.path, place);
      if (entry !== undefined && identityOf(entry) === identity) this.#hide(path, entry);
      else this.problem = `${place} was moved while hidden files were searched for`;
    }
  }

  /** The files to remember. After a failed search, the previously remembered files. */
  known(remembered: Remembered, whereabouts: ReadonlyMap<string, string>): Known[] {
    if (this.problem === undefined) {
      return [...this.#found].map(([path, entry]) => {
        const identity = identityOf(entry);
        const now = this.#onMachine(path);
        return { identity, now, first: remembered[identity] ?? now };
      });
    }
    return Object.entries(remembered)
      .filter(([, first]) => isWithin(first, this.mount.pin.path))
      .map(([identity, first]) => ({ identity, first, now: whereabouts.get(identity) ?? first }));
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
      if (entry?.isFile() === true) this.#hide(relative(root, file), entry);
    }
  }

  hidden(blanks: Blanks): HiddenPath[] {
    if (this.problem !== undefined) return [];
    return [...this.#found].flatMap(([path, entry]) => {
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

  #hide(path: string, entry: Identified, isExact = true): void {
    if (!isExact) throw new Unsearchable('a file to hide has a name that is not UTF-8');
    this.#found.set(path, entry);
  }

  async #walk(visit: Parameters<typeof walkDirectory>[1]['visit']): Promise<void> {
    if (this.problem !== undefined) return;
    try {
      await walkDirectory(this.mount.pin.path, {
        visit,
        skips: (path) => this.#found.has(path),
        // The server may run as another user, who can.
        onUnreadable: ({ path, isExact }, entry) => this.#hide(path, entry, isExact),
      });
    } catch (error) {
      this.problem =
        error instanceof Unsearchable
          ? error.message
          : `the directory cannot be searched: ${messageOf(error)}`;
    }
  }
}
