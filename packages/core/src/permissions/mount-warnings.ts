import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { posix } from 'node:path';
import type { Risk } from '@toolhive/contract/risk';
import type { Mount, PinnedMount } from '@toolhive/runtime/mount-source';
import {
  baseDirectories,
  homePlaces,
  homeRoots,
  machinePlaces,
  movedPlaces,
  ordinaryParents,
  ordinaryPlaces,
  reasons,
  rootHomes,
} from '@toolhive/runtime/sensitive-places';
import type { Reason } from '@toolhive/runtime/sensitive-places';

/** Access that needs the user's consent. */
export interface Danger {
  risk: Risk;
  text: string;
}

/** The user of this machine whose files are mounted. */
export interface Owner {
  home: string;
  env: NodeJS.ProcessEnv;
  platform: NodeJS.Platform;
  /** The files of the daemon itself. */
  programs: readonly string[];
}

/** A sensitive path. `identity` finds it under any other path, such as that of a bind mount. */
interface Place {
  reason: Reason;
  path: string;
  /** Whether a directory that contains the place is not sensitive because of it. */
  onlyInside?: boolean;
  identity?: string | undefined;
}

type Places = readonly Place[];

export const thisUser = (): Owner => ({
  home: homedir(),
  env: process.env,
  platform: process.platform,
  programs: [process.execPath, process.argv[1] ?? ''],
});

/** Worked out once, because lists of workloads ask for each of them. */
let known: Places | undefined;

/** What a person should know about mounts, by their paths. */
export function mountWarnings(mounts: readonly Mount[], owner?: Owner): string[] {
  const places = owner === undefined ? (known ??= placesOf(thisUser())) : placesOf(owner);
  const of = (path: string, readOnly: boolean): Danger[] =>
    dangersAt({ path, readOnly }, places, owner ?? thisUser());
  return [...new Set(mounts.flatMap(({ source, readOnly }) => of(source, readOnly)).map(({ text }) => text))];
}

/**
 * Why a mount is dangerous: because of its path, because of what its path leads to, or because a sensitive place leads
 * to the same file or directory.
 */
export function dangersOfMount(mount: Mount | PinnedMount, owner: Owner = thisUser()): Danger[] {
  const places = placesOf(owner).flatMap((place) => resolved(place, owner));
  const { source, readOnly } = mount;
  const pin = 'pin' in mount ? mount.pin : undefined;
  const identity = pin && `${pin.device}:${pin.inode}`;
  return [...new Set([source, pin?.path ?? source])].flatMap((path) =>
    dangersAt({ path, readOnly, identity }, places, owner),
  );
}

interface Source {
  path: string;
  readOnly: boolean;
  identity?: string | undefined;
}

function dangersAt({ path: given, readOnly, identity }: Source, places: Places, owner: Owner): Danger[] {
  const path = unified(given, owner);
  const same = ignoresCase(path, owner) ? folded : (text: string): string => text;
  const own = same(path);
  const found = new Set<Reason>();
  if (own === '/' || /^[a-z]:\/?$/i.test(own)) found.add('root');
  if (isHome(own, same) || containsHomes(own, same, owner)) found.add('home');
  const isOrdinary = ordinaryPlaces.some((place) => isWithin(own, place));
  for (const { reason, path: sensitive, onlyInside = false, identity: its } of [
    ...places,
    ...placesInHomeOf(path, owner),
  ]) {
    if (isOrdinary && reason === 'system') continue;
    const isInside = reason !== 'home' && isWithin(own, same(sensitive));
    const isSame = its !== undefined && its === identity;
    if (isInside || isSame || (!onlyInside && isWithin(same(sensitive), own))) found.add(reason);
  }
  const relevant = reasonNames.filter(
    (reason) => found.has(reason) && !(readOnly && reasons[reason].onlyWritable === true),
  );
  // The worst reasons include all others. Credentials and programs are independent of each other.
  const [worst] = relevant;
  const reported = worst === undefined || independent.has(worst) ? relevant : [worst];
  return reported.map((reason) => ({
    risk: reasons[reason].risk,
    text: `the server can access ${given}, ${reasons[reason].why}`,
  }));
}

const reasonNames = Object.keys(reasons) as Reason[]; // the keys of a constant
const independent: ReadonlySet<Reason> = new Set(['credentials', 'history', 'programs']);

/** All sensitive places of the machine and of its user. */
function placesOf({ home, env, platform, programs: own }: Owner): Place[] {
  const ofMachine = entriesOf(machinePlaces).map(([reason, path]) => ({ reason, path }));
  const ofUser = entriesOf(homePlaces).flatMap(([reason, path]) => {
    const moved = baseDirectories.flatMap(([variable, part]) => {
      const base = env[variable];
      const isMoved = base !== undefined && isAbsolute(base) && isWithin(path, part);
      return isMoved ? [posix.join(unified(base, { platform }), path.slice(part.length))] : [];
    });
    return [posix.join(unified(home, { platform }), path), ...moved].map((place) =>
      inHome(reason, path, place),
    );
  });
  const ofVariables = entriesOf(movedPlaces).flatMap(([reason, variable]) =>
    pathsIn(env[variable] ?? '', platform).map((path) => ({ reason, path })),
  );
  // The daemon runs all of these outside of any sandbox.
  const path = (env['PATH'] ?? '').split(platform === 'win32' ? ';' : ':');
  const programs = [...path, ...own];
  const ofPath = programs
    .filter(isAbsolute)
    .map((program) => ({ reason: 'programs' as const, path: unified(program, { platform }) }));
  // A variable such as ZDOTDIR may name the home directory itself, whose ordinary files are not sensitive.
  const narrow = [...ofVariables, ...ofPath].filter(
    ({ path }) => !isWithin(unified(home, { platform }), path),
  );
  const runtimeDirectory = process.getuid === undefined ? [] : [`/run/user/${process.getuid()}`];
  const sockets = runtimeDirectory.flatMap((directory) =>
    ['docker.sock', 'podman'].map((name) => ({ reason: 'engine' as const, path: `${directory}/${name}` })),
  );
  return [
    { reason: 'home', path: unified(home, { platform }) },
    ...ofMachine,
    ...sockets,
    ...ofUser,
    ...narrow,
  ];
}

/** The places in the home directory of any user that contains a path. */
function placesInHomeOf(path: string, owner: Owner): Place[] {
  const same = ignoresCase(path, owner) ? folded : (text: string): string => text;
  const parts = path.split('/');
  const home = parts
    .map((_part, index) => parts.slice(0, index + 1).join('/'))
    .find((one) => isHome(same(one), same));
  if (home === undefined) return [];
  return entriesOf(homePlaces).map(([reason, place]) => inHome(reason, place, posix.join(home, place)));
}

function inHome(reason: Reason, place: string, path: string): Place {
  // What is around an engine's socket is a directory with credentials, or the home directory.
  const onlyInside = reason === 'engine' || ordinaryParents.some((parent) => isWithin(place, parent));
  return { reason, path, onlyInside };
}

/** The place, and where its links lead to if that is not around the home directory. */
function resolved(place: Place, { home }: Owner): Place[] {
  try {
    const path = realpathSync.native(place.path);
    const { dev, ino } = statSync(path, { bigint: true });
    const own = { ...place, identity: `${dev}:${ino}` };
    const isElsewhere = path !== place.path && (place.reason === 'home' || !isWithin(home, path));
    return isElsewhere ? [own, { ...own, path }] : [own];
  } catch {
    return [place]; // nothing exists there yet
  }
}

function isHome(path: string, same: (text: string) => string): boolean {
  return (
    rootHomes.some((home) => same(home) === path) ||
    homeRoots.some((root) => patternOf(same(root)).test(path))
  );
}

/** Whether a path is a directory of homes or contains one. */
function containsHomes(path: string, same: (text: string) => string, { env }: Owner): boolean {
  const isWindowsDisk = env['WSL_DISTRO_NAME'] !== undefined && /^\/mnt(?:\/[a-z])?$/i.test(path);
  return (
    isWindowsDisk ||
    homeRoots.some(
      (root) =>
        (!root.includes('*') && isWithin(same(root), path)) || patternOf(same(root)).test(`${path}/x`),
    )
  );
}

/** A directory in a directory of homes. */
const patternOf = (root: string): RegExp => new RegExp(`^${root.replace('*', '[A-Za-z]')}/[^/]+$`);

function entriesOf(table: Readonly<Partial<Record<Reason, readonly string[]>>>): [Reason, string][] {
  return reasonNames.flatMap((reason) =>
    (table[reason] ?? []).map((text): [Reason, string] => [reason, text]),
  );
}

/** The paths in the value of a variable, for example in `unix:///run/user/1000/docker.sock`. */
function pathsIn(value: string, platform: NodeJS.Platform): string[] {
  const paths = value.replace(/^(?:unix:\/\/|unix:path=|npipe:\/\/|FILE:|DIR:)/, '').replace(/[,?].*$/, '');
  return paths
    .split(platform === 'win32' ? ';' : ':')
    .filter(isAbsolute)
    .map((path) => unified(path, { platform }));
}

const isAbsolute = (path: string): boolean => /^(?:\/|[A-Za-z]:[\\/])/.test(path);

/** A path without `..`, double or closing slashes, and on Windows with slashes only. */
function unified(path: string, { platform }: Pick<Owner, 'platform'>): string {
  const slashes = platform === 'win32' ? path.replaceAll('\\', '/').replace(/^\/\/[?.]\//, '') : path;
  const clean = posix.normalize(slashes);
  return clean.length > 1 ? clean.replace(/\/$/, '') : clean;
}

/** The file systems of macOS and Windows ignore letter case by default, also below a Linux system on Windows. */
function ignoresCase(path: string, { platform }: Owner): boolean {
  return platform === 'darwin' || platform === 'win32' || /^\/mnt\/[a-z](?:\/|$)/i.test(path);
}

const folded = (path: string): string => path.normalize('NFC').toLowerCase();

/** Whether a path is a directory or something inside it. */
function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}
