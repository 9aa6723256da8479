import { bundle } from '../../scripts/build.ts';
import { ask, askAndFollow, workloadsPath } from '../ask.ts';
import { startChild } from '../child.ts';
import type { Child } from '../child.ts';

/** A daemon in a separate process, with servers that need almost no resources. */
export type Daemon = Child<{ socketPath: string; image: string }>;

/** Starts the daemon from a bundle, like the product: type stripping needs memory that no user needs. */
export async function startDaemon(runtime: 'shell' | 'memory'): Promise<Daemon> {
  const source = new URL('../servers/daemon.ts', import.meta.url).pathname;
  await bundle({ daemon: source }, new URL('../dist', import.meta.url).pathname);
  return startChild(new URL('../dist/daemon.js', import.meta.url), [runtime], ['--expose-gc']);
}

/** How many workloads are started at once: enough to fill the waits for the disk. */
const atOnce = 16;

/** Adds workloads until there are `count`, and returns when all of them run. */
export async function growTo({ ready }: Daemon, count: number, signal: AbortSignal): Promise<void> {
  const { socketPath, image } = ready;
  const list = JSON.parse(await ask({ socketPath, method: 'GET', path: `${workloadsPath}?all=true` })) as {
    workloads: unknown[];
  };
  let next = list.workloads.length;
  const addOthers = async (): Promise<void> => {
    while (next < count) {
      signal.throwIfAborted();
      const name = workloadName(next++);
      await askAndFollow({ socketPath, method: 'POST', path: workloadsPath, body: { name, image } });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, addOthers));
}

/** The name of the workload that was added as the so-manieth, counted from 0. */
export function workloadName(index: number): string {
  return `bench-${String(index).padStart(4, '0')}`;
}
