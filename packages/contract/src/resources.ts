import { invalid } from './failure.ts';

/** The limit on one resource of the machine. */
interface ResourceRule {
  /** The flag of `thv run`. */
  flag: string;
  unit: 'bytes' | 'cores' | 'count';
  /** The resource, as a noun phrase. */
  summary: string;
  /** The default limit. */
  default: number;
  min: number;
  max: number;
}

const KIB = 1024;
const MIB = KIB ** 2;
const GIB = KIB ** 3;
const TIB = KIB ** 4;

/** All resource limits. Flags, requests, run configs, and documentation use this table. */
export const resourceRules = {
  memory: {
    flag: 'memory',
    unit: 'bytes',
    summary: 'memory for all server processes',
    default: 2 * GIB,
    min: 16 * MIB,
    max: TIB,
  },
  cpus: {
    flag: 'cpus',
    unit: 'cores',
    summary: 'processor time for the server, in cores',
    default: 2,
    min: 0.1,
    max: 512,
  },
  pids: {
    flag: 'pids',
    unit: 'count',
    summary: 'server processes and threads',
    default: 512,
    min: 8,
    max: 32_768,
  },
  disk: {
    flag: 'disk',
    unit: 'bytes',
    summary: 'files in the home directory and in /tmp',
    default: 2 * GIB,
    min: MIB,
    max: 16 * TIB,
  },
  open_files: {
    flag: 'open-files',
    unit: 'count',
    summary: 'open files per server process',
    default: 4096,
    min: 64,
    max: 1_048_576,
  },
} as const satisfies Record<string, ResourceRule>;

export type ResourceName = keyof typeof resourceRules;

/** The requested limits, as written by the user. */
export type RequestedResources = { [Name in ResourceName]?: string | number | undefined };

/** All limits of a server, in bytes, cores, and counts. */
export type Resources = Record<ResourceName, number>;

export const resourceNames = Object.keys(resourceRules) as ResourceName[]; // the keys of a constant

/** Returns a server's limits: the requested limits and the defaults of the others. Throws `invalid`. */
export function resourcesOf(requested: RequestedResources | null | undefined): Resources {
  const limits = resourceNames.map((name) => {
    const value = requested?.[name];
    return [name, value === undefined ? resourceRules[name].default : readResource(name, value)];
  });
  return Object.fromEntries(limits) as Resources; // one entry for each name
}

/** Parses a limit. Throws `invalid` with the value and the allowed range. */
export function readResource(name: ResourceName, value: string | number): number {
  const { unit, min, max }: ResourceRule = resourceRules[name];
  const amount = unit === 'bytes' ? readSize(value) : readNumber(value);
  const hint = `use ${kinds[unit]} from ${describeResource(name, min)} to ${describeResource(name, max)}`;
  const shown = JSON.stringify(value).slice(0, 100);
  if (amount === undefined || (unit === 'count' && !Number.isInteger(amount))) {
    throw invalid(`${shown} is not ${kinds[unit]}`, { hint });
  }
  if (amount >= min && amount <= max) return amount;
  throw invalid(`${shown} is too ${amount < min ? 'small' : 'large'}`, { hint });
}

const kinds: Record<ResourceRule['unit'], string> = {
  bytes: 'a size such as 512m or 1.5GiB',
  cores: 'a number of cores',
  count: 'a whole number',
};

/** Formats a limit for users: `512 MiB`, `1.5`. */
export function describeResource(name: ResourceName, amount: number): string {
  if (resourceRules[name].unit !== 'bytes') return String(amount);
  const [unit, bytes] = units.find(([, size]) => amount >= size) ?? ['bytes', 1];
  return `${Math.round((amount / bytes) * 100) / 100} ${unit}`;
}

/** The way to raise a limit, as the end of a message about an exceeded limit. */
export function allowMore(name: ResourceName): string {
  return `allow more with --${resourceRules[name].flag}`;
}

const units = [
  ['TiB', TIB],
  ['GiB', GIB],
  ['MiB', MIB],
  ['KiB', KIB],
] as const;

const factors: Record<string, number> = { '': 1, k: KIB, m: MIB, g: GIB, t: TIB };

function readSize(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  const [, number, unit = ''] = /^(\d{1,15}(?:\.\d{1,6})?) ?([kmgt]?)(?:i?b)?$/i.exec(value.trim()) ?? [];
  return number === undefined ? undefined : Math.round(Number(number) * (factors[unit.toLowerCase()] ?? 1));
}

function readNumber(value: string | number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  return /^\d{1,15}(?:\.\d{1,6})?$/.test(value.trim()) ? Number(value) : undefined;
}
