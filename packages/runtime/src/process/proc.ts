import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

// Reads of /proc are answered from the kernel's memory in microseconds; asynchronous ones would be slower.

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

/** The memory that is a process's alone or shared in memory only: what it would be charged for. */
export function memoryOf(pid: number): number {
  const status = read(`/proc/${pid}/status`) ?? '';
  const kibibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  return (kibibytes('RssAnon') + kibibytes('RssShmem')) * 1024;
}

/** Whether a process exists and is more than an entry that its parent has not collected yet. */
export function isAlive(pid: number): boolean {
  const state = /^State:\s+(\w)/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Whether a process in a new user namespace has been told who it is there. */
export function hasIdentity(pid: number): boolean {
  // bubblewrap writes the map of groups last.
  return (read(`/proc/${pid}/gid_map`) ?? '') !== '';
}

/** The most that this process may raise its own limit on open files to. */
export function openFilesCeiling(): number {
  const ceiling = /^Max open files\s+\S+\s+(\d+)/m.exec(read('/proc/self/limits') ?? '')?.[1];
  return ceiling === undefined ? Number.MAX_SAFE_INTEGER : Number(ceiling);
}

const INTERVAL_MS = 2;

/** Looks every other millisecond until the condition holds; tells whether it came to hold in time. */
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
