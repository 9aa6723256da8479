import { inject } from 'vitest';
import { startedOnce } from './started-once.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether `sharedOut` returns the first element or the others. */
    part: 'first' | 'others';
  }
}

export type EngineName = 'docker' | 'podman';

/**
 * The socket of a container engine that has the image with the test servers. The first test file that asks starts the
 * engine. Empty if this machine cannot start the engine.
 */
export async function engineSocket(name: EngineName): Promise<string> {
  return startedOnce(name);
}

/**
 * The runtimes that a test file uses. The first one is tested by default, and the suite `engines` tests the others in
 * another run of the same file. Everything in the file has to depend on the result, or runs twice.
 */
export function sharedOut<T>(runtimes: readonly T[]): readonly T[] {
  return inject('part') === 'others' ? runtimes.slice(1) : runtimes.slice(0, 1);
}
