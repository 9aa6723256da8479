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
import { isWithin } from './mounts.ts';

export interface HideOptions {
  /** The ignore file of the user; undefined if it does not apply. */
  ignoreFile: string | undefined;
  blanks: Blanks;
  /** The name of the workload, and what was hidden from it before. */
  workload: string;
  memory: HiddenMemory;
  /** The directories that are mounted for other workloads: the server must not change their ignore files. */
  others: readonly string[];
}

/** What a server sees of the directories that were granted to it. */
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
 * Finds what ignore files hide in mounted directories. Servers may write to these directories, even now: nothing that
 * they write makes a file visible that the user hides, or prevents the start. Throws `conflict` if a mount has changed
 * since it was granted, or if the ignore file of the user cannot be applied.
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

/** Replaces the directories that cannot be searched, and leaves out what would lie inside of a hidden one. */
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
    if (around !== undefined) warnings.push(`it cannot see ${mount.source}, because ${around} is hidden`);
    else if (problem === undefined) mounts.push(mount);
    else {
      warnings.push(`it sees an empty directory instead of ${mount.source}: ${problem}`);
      mounts.push({ source: pin.path, pin, target: mount.target, readOnly: true });
    }
  }
  return { mounts, warnings };
}

/** A file or directory as the file system knows it, whatever its name is. */
interface Identified {
  dev: bigint;
  ino: bigint;
  birthtimeNs: bigint;
  isDirectory: () => boolean;
}

/** A file that is created later can get the number of one that was deleted. */
const identityOf = ({ dev, ino, birthtimeNs }: Identified): string => `${dev}:${ino}:${birthtimeNs}`;

/** A hidden file as it is remembered: where it was first, and where it is now. */
interface Known {
  identity: string;
  first: string;
  now: string;
}

/** The search for what to hide in one mount. */
class Search {
  readonly mount: PinnedMount;
  /** The identities of hidden files that may have further names. */
  readonly aliases = new Set<string>();
  /** Why the rules cannot be applied. */
  problem: string | undefined;
  readonly #rules: readonly IgnoreRules[];
  /** Other mounts that lie in this one, relative to it. */
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

  /** A single file that was granted is no directory with rules: the user named it. */
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
   * Searches for files that match the rules, or did so at the path at which they were found first. A file that still is
   * at that path is hidden only if it matches: then it is the user who has changed the rules.
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

  /** Hides what has escaped the search, because it was moved meanwhile. */
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

  /** What is to be remembered. If the search has failed, that is what was remembered before. */
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

  /** Hides the ignore files of mounted directories, so that no server decides what is hidden from it or from others. */
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
        error instanceof Unsearchable ? error.message : `it cannot be searched: ${messageOf(error)}`;
    }
  }
}
