import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceUsage } from './runtime.ts';

// The kernel answers reads of /proc from memory in microseconds, so asynchronous reads would be slower.

/** The processes that a process started and that are its children still. */
export function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  );
}

/** A process, its children, their children, and so on. */
export function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)];
}

export function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has ended
  }
}

/** A process's private and shared anonymous memory, which the kernel would charge to it. */
export function memoryOf(pid: number): number {
  const status = read(`/proc/${pid}/status`) ?? '';
  const kibibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return (kibibytes('RssAnon') + kibibytes('RssShmem')) * 1024;
}

/** The unit of processor times in /proc, the same on every Linux system (proc(5), `_SC_CLK_TCK`). */
const TICK_MS = 10;
/** The processor times of a process and of its children that have ended: `utime`, `stime`, `cutime`, `cstime`. */
const TIMES = /^\d+ \(.*\) \S(?: \S+){10} (\d+) (\d+) (\d+) (\d+) /s;

/** The resource use of a sandbox's first process and all its descendants. Undefined if the process has ended. */
export function usageOf(init: number): InstanceUsage | undefined {
  const family = familyOf(init);
  const times = family.map((pid) => TIMES.exec(read(`/proc/${pid}/stat`) ?? ''));
  if (times[0] === undefined || times[0] === null) return undefined;
  const ticks = times.flatMap((found) => found?.slice(1).map(Number) ?? []);
  return {
    memoryBytes: family.reduce((total, pid) => total + memoryOf(pid), 0),
    cpuMs: ticks.reduce((total, time) => total + time, 0) * TICK_MS,
    processes: family.length - 1, // bubblewrap's own is none of the server
  };
}

/** Whether a process exists and is more than an entry that its parent has not collected yet. */
export function isAlive(pid: number): boolean {
  const state = /^State:\s+(\w)/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Whether a process in a new user namespace has a user mapping. */
export function hasIdentity(pid: number): boolean {
  // bubblewrap writes the map of groups last.
  return (read(`/proc/${pid}/gid_map`) ?? '') !== '';
}

const INTERVAL_MS = 2;

/** Polls every two milliseconds until the condition holds. Returns whether it held in time. */
export async function waitUntil(
  condition: () => boolean,
  { timeoutMs }: { timeoutMs: number },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) return false;
    await delay(INTERVAL_MS);
  }
  return true;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // the process has ended, or this kernel has no such file
  }
}
