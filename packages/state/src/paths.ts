import { createHash } from 'node:crypto';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { unavailable } from '@toolhive/contract/failure';

/** Where the daemon keeps what, by the XDG Base Directory Specification and its equivalents elsewhere. */
export interface StatePaths {
  config: string;
  state: string;
  data: string;
  cache: string;
  /** Copies of remote registries. */
  registryCopies: string;
  settings: string;
  runConfigs: string;
  groups: string;
  /** The mount sources that were granted to each workload. */
  mounts: string;
  /** The home directories of sandboxed servers. */
  homes: string;
  /** The bundles of the user, one file for each content. */
  bundles: string;
  statuses: string;
  logs: string;
  /** Encrypted. The original uses the same file name. */
  secrets: string;
  /** ToolHive's entries in the clients' files. */
  clientEntries: string;
  /** The client registrations that are being changed. */
  registrations: string;
  events: string;
  /** What servers tried to reach, what they said about their tools, and what they listed last. */
  workloads: string;
  /** Figures about calls and connections, and the calls of the last day. */
  history: string;
  /** The content and the provenance of installed packages. */
  packages: string;
  /** The content of the packages in images that the daemon built. */
  images: string;
  /** Audit records, with the hash that each database or file of them ended with. */
  audit: string;
  /** The same records as lines. */
  auditFile: string;
  /** A copy of the database's last audit record, outside the database. */
  auditAnchor: string;
  /** Patterns of files that no server may see in any mount. */
  ignoreFile: string;
  /** What servers find in place of hidden files. */
  blanks: string;
  /** What was hidden from each workload. */
  hidden: string;
  /** What each workload in learning mode has used of its mounts. */
  mountUse: string;
  /** Where earlier versions stored the same in files that are named after workloads. */
  byName: Readonly<Record<'mounts' | 'hidden' | 'mountUse', string>>;
  /** Where earlier versions stored the rows of workloads. */
  earlier: Readonly<Record<'decisions' | 'pins' | 'listings', string>>;
  /** Exists once all state of earlier versions belongs to IDs. */
  adopted: string;
  /** Wiped whenever a daemon starts. */
  temp: string;
  /** The Unix socket that the CLI talks to. */
  socket: string;
  /** Where the socket is if not in the state directory: a place that others could make before this user does. */
  sharedSocketDirectory: string | undefined;
  /** Owned by the one daemon that may write here. */
  lock: string;
  daemonId: string;
  /** Seals the IDs of tasks for clients. */
  taskKey: string;
}

/** The longest path that a Unix socket address holds on every system we run on, with its closing NUL. */
const maxSocketPath = 103;

/** Works out every path from the environment. Touches nothing. */
export function statePaths(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): StatePaths {
  const base = baseDirectories(env, platform);
  const config = join(base.config, 'toolhive');
  const state = join(base.state, 'toolhive');
  const data = join(base.data, 'toolhive');
  return {
    config,
    state,
    data,
    cache: join(base.cache, 'toolhive'),
    registryCopies: join(base.cache, 'toolhive', 'registry'),
    settings: join(config, 'config.yaml'),
    runConfigs: join(state, 'runconfigs'),
    groups: join(state, 'groups'),
    mounts: join(state, 'workloads', 'mounts'),
    homes: join(state, 'homes'),
    bundles: join(state, 'bundles'),
    statuses: join(data, 'statuses'),
    logs: join(data, 'logs'),
    secrets: join(data, 'secrets_encrypted'),
    clientEntries: join(state, 'client-entries.json'),
    registrations: join(state, 'registrations.json'),
    events: join(state, 'events.db'),
    workloads: join(state, 'workloads.db'),
    history: join(state, 'history.db'),
    packages: join(state, 'packages.db'),
    images: join(state, 'images'),
    audit: join(state, 'audit.db'),
    auditFile: join(state, 'audit.log'),
    auditAnchor: join(state, 'audit-anchor.json'),
    ignoreFile: join(config, 'thvignore'),
    blanks: join(state, 'blanks'),
    hidden: join(state, 'workloads', 'hidden'),
    mountUse: join(state, 'workloads', 'mount-use'),
    adopted: join(state, 'workloads', 'adopted'),
    byName: {
      mounts: join(state, 'mounts'),
      hidden: join(state, 'hidden'),
      mountUse: join(state, 'mount-use'),
    },
    earlier: {
      decisions: join(state, 'network.db'),
      pins: join(state, 'pins.db'),
      listings: join(state, 'listings.db'),
    },
    temp: join(state, 'tmp'),
    ...socketPlace(state, platform),
    lock: join(state, 'hive.lock'),
    daemonId: join(state, 'hive-id'),
    taskKey: join(state, 'task-key'),
  };
}

/** The home of the user whose daemon this is. */
export function homeOf(env: NodeJS.ProcessEnv, find = homedir): string {
  try {
    return env['HOME'] ?? find();
  } catch (cause) {
    // The user has neither a variable nor an entry in the user database, as in some containers.
    const hint = 'set HOME to a directory that this user can write to';
    throw unavailable('the home directory of this user is not known', { hint, cause });
  }
}

function baseDirectories(env: NodeJS.ProcessEnv, platform: NodeJS.Platform) {
  const home = homeOf(env);
  const local = env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  const support = join(home, 'Library', 'Application Support');
  const inHome = (...parts: string[]): string =>
    platform === 'win32' ? local : platform === 'darwin' ? support : join(home, ...parts);
  return {
    config: absolute(env['XDG_CONFIG_HOME']) ?? inHome('.config'),
    state: absolute(env['XDG_STATE_HOME']) ?? inHome('.local', 'state'),
    data: absolute(env['XDG_DATA_HOME']) ?? inHome('.local', 'share'),
    cache:
      absolute(env['XDG_CACHE_HOME']) ??
      (platform === 'darwin' ? join(home, 'Library', 'Caches') : inHome('.cache')),
  };
}

/** The specification says that relative paths are to be ignored. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && path.startsWith('/') ? path : undefined;
}

/**
 * In the state directory, unless its path is too long for a socket. Otherwise in a private directory of this user in
 * the temporary directory.
 */
function socketPlace(
  state: string,
  platform: NodeJS.Platform,
): Pick<StatePaths, 'socket' | 'sharedSocketDirectory'> {
  const hash = (): string => createHash('sha256').update(state).digest('hex').slice(0, 16);
  const path = platform === 'win32' ? `\\\\.\\pipe\\toolhive-${hash()}` : join(state, 'hive.sock');
  if (path.length <= maxSocketPath) return { socket: path, sharedSocketDirectory: undefined };
  const directory = join(tmpdir(), `toolhive-${userInfo().uid}`);
  return { socket: join(directory, `${hash()}.sock`), sharedSocketDirectory: directory };
}
