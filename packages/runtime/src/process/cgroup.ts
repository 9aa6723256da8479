import { access, constants, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { ResourceLimits } from '../runtime.ts';

const controllers = ['memory', 'pids', 'cpu'] as const;

export type Controller = (typeof controllers)[number];

/** A control group directory in which the daemon may create groups, and the cgroup version. */
interface Place {
  version: 1 | 2;
  folder: string;
}

/** Where this machine allows each kind of limit. A missing kind cannot be limited. */
export type CgroupPlaces = Partial<Record<Controller, Place>>;

/**
 * Looks for writable control groups below the daemon's own group, so that limits on the daemon also limit its
 * servers.
 */
export async function findCgroups(): Promise<CgroupPlaces> {
  const mounts = await cgroupMounts();
  const own = await ownCgroups();
  const places: CgroupPlaces = {};
  for (const controller of controllers) {
    for (const mount of mounts) {
      const place = await placeIn(mount, own, controller);
      if (place !== undefined) places[controller] ??= place;
    }
  }
  return places;
}

/** A control group, one folder for each controller's hierarchy, that holds one sandbox. */
export class Cgroup implements AsyncDisposable {
  readonly #places: CgroupPlaces;
  readonly #name: string;

  private constructor(places: CgroupPlaces, name: string) {
    this.#places = places;
    this.#name = name;
  }

  static async open(places: CgroupPlaces, name: string, limits: ResourceLimits): Promise<Cgroup> {
    const cgroup = new Cgroup(places, name);
    try {
      for (const folder of cgroup.#folders()) await mkdir(folder, { recursive: true });
      for (const controller of controllers) await cgroup.#limit(controller, limits);
      return cgroup;
    } catch (error) {
      await cgroup[Symbol.asyncDispose]();
      throw cannotLimit(error);
    }
  }

  /** Moves a process into the group. Its future children join the group, too. */
  async add(pid: number): Promise<void> {
    for (const folder of this.#folders()) {
      const joining = writeFile(join(folder, 'cgroup.procs'), String(pid));
      await joining.catch((error: unknown) => {
        throw cannotLimit(error);
      });
    }
  }

  /** Whether the kernel killed a process in the group because of the memory limit. */
  async ranOutOfMemory(): Promise<boolean> {
    const file = this.#places.memory?.version === 1 ? 'memory.oom_control' : 'memory.events';
    return (await this.#counter('memory', file, 'oom_kill')) > 0;
  }

  /** Whether the kernel refused a process or thread in the group because of the process limit. */
  async ranOutOfProcesses(): Promise<boolean> {
    return (await this.#counter('pids', 'pids.events', 'max')) > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const folder of this.#folders()) await removeGroup(folder);
  }

  async #counter(controller: Controller, file: string, counter: string): Promise<number> {
    const place = this.#places[controller];
    if (place === undefined) return 0;
    const counters = await readFile(join(place.folder, this.#name, file), 'utf8').catch(() => '');
    return Number(new RegExp(`^${counter} (\\d+)$`, 'm').exec(counters)?.[1] ?? 0);
  }

  async #limit(controller: Controller, limits: ResourceLimits): Promise<void> {
    const place = this.#places[controller];
    if (place === undefined) return;
    for (const { file, value, optional } of settings[controller][place.version](limits)) {
      const writing = writeFile(join(place.folder, this.#name, file), value);
      await (optional ? writing.catch(() => {}) : writing);
    }
  }

  #folders(): Set<string> {
    return new Set(Object.values(this.#places).map(({ folder }) => join(folder, this.#name)));
  }
}

/** The kernel keeps processes with a real-time policy out of groups that have no budget for them (sched(7)). */
function cannotLimit(error: unknown): unknown {
  const isRefused = error instanceof Error && 'code' in error && error.code === 'EINVAL';
  return unavailable(`cannot limit the resources of the sandbox: ${messageOf(error)}`, {
    cause: error,
    ...(isRefused
      ? { hint: 'start the daemon without a real-time scheduling policy (`chrt --other 0`)' }
      : {}),
  });
}

/** Removes the groups with this name prefix from earlier daemons, and kills the processes in them. */
export async function sweepCgroups(prefix: string): Promise<void> {
  for (const { point } of await cgroupMounts()) {
    for (const folder of await groupsNamed(prefix, point)) {
      const left = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
      for (const pid of left.split('\n').filter(Boolean)) kill(Number(pid));
      await removeGroup(folder);
    }
  }
}

interface Setting {
  file: string;
  value: string;
  /** Some kernels lack this file. Without it, the limit is only slightly weaker. */
  optional?: boolean;
}

const PERIOD_US = 100_000;
const quota = ({ cpus }: ResourceLimits) => Math.max(1000, Math.round(cpus * PERIOD_US));

const settings: Record<Controller, Record<Place['version'], (limits: ResourceLimits) => Setting[]>> = {
  memory: {
    1: ({ memoryBytes }) => [
      { file: 'memory.limit_in_bytes', value: String(memoryBytes) },
      { file: 'memory.memsw.limit_in_bytes', value: String(memoryBytes), optional: true },
    ],
    2: ({ memoryBytes }) => [
      { file: 'memory.max', value: String(memoryBytes) },
      { file: 'memory.swap.max', value: '0', optional: true },
    ],
  },
  pids: {
    1: ({ processes }) => [{ file: 'pids.max', value: String(processes) }],
    2: ({ processes }) => [{ file: 'pids.max', value: String(processes) }],
  },
  cpu: {
    1: (limits) => [
      { file: 'cpu.cfs_period_us', value: String(PERIOD_US) },
      { file: 'cpu.cfs_quota_us', value: String(quota(limits)) },
    ],
    2: (limits) => [{ file: 'cpu.max', value: `${quota(limits)} ${PERIOD_US}` }],
  },
};

interface CgroupMount {
  version: 1 | 2;
  /** The path inside the hierarchy that is mounted, and where. */
  root: string;
  point: string;
  options: string[];
}

async function cgroupMounts(): Promise<CgroupMount[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [, root, point, type, options] =
      /^\d+ \d+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    if (root === undefined || point === undefined || options === undefined) return [];
    return [{ version: type === 'cgroup2' ? 2 : 1, root, point, options: options.split(',') }];
  });
}

/** The daemon's own group in each hierarchy: by controller, and under the empty name for version 2. */
async function ownCgroups(): Promise<Map<string, string>> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n');
  const groups = new Map<string, string>();
  for (const line of lines) {
    const [, names, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const name of names?.split(',') ?? []) groups.set(name, path ?? '/');
  }
  return groups;
}

async function placeIn(
  { version, root, point, options }: CgroupMount,
  own: Map<string, string>,
  controller: Controller,
): Promise<Place | undefined> {
  if (version === 1 && !options.includes(controller)) return undefined;
  const path = own.get(version === 1 ? controller : '');
  if (path === undefined || (root !== '/' && !`${path}/`.startsWith(`${root}/`))) return undefined;
  const group = join(point, root === '/' ? path : path.slice(root.length));
  // In version 2, a group with processes cannot delegate controllers, so these groups are siblings of the daemon's
  // group.
  const folder = version === 1 || path === '/' ? group : dirname(group);
  if (!(await isWritable(folder))) return undefined;
  return version === 1 || (await handsOn(folder, controller)) ? { version, folder } : undefined;
}

async function handsOn(folder: string, controller: Controller): Promise<boolean> {
  const enabled = await readFile(join(folder, 'cgroup.subtree_control'), 'utf8').catch(() => '');
  return enabled.trim().split(' ').includes(controller);
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    // Moving a process also requires write access to the process list of the enclosing group.
    for (const path of [folder, join(folder, 'cgroup.procs')]) await access(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const DEEPEST_GROUP = 10;

async function groupsNamed(prefix: string, folder: string, depth = 0): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const groups = entries.filter((entry) => entry.isDirectory());
  const found = groups.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => join(folder, name));
  if (depth === DEEPEST_GROUP) return found;
  const deeper = groups.filter(({ name }) => !name.startsWith(prefix));
  const below = await Promise.all(
    deeper.map(({ name }) => groupsNamed(prefix, join(folder, name), depth + 1)),
  );
  return [...found, ...below.flat()];
}

const REMOVAL_ATTEMPTS = 200;
const REMOVAL_INTERVAL_MS = 5;

/** A group is busy until the kernel has removed its last process, shortly after the process died. */
async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 0; attempt < REMOVAL_ATTEMPTS; attempt++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EBUSY')) return;
      await delay(REMOVAL_INTERVAL_MS);
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone already
  }
}
