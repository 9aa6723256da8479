import { inject } from 'vitest';
import { startedOnce } from './started-once.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether `sharedOut` returns the first element or the others. Pure tests have no engines. */
    part: 'first' | 'others' | 'pure';
  }
}

export type EngineName = 'docker' | 'podman';

/**
 * The socket of a container engine that has the image with the test servers. The first test file that asks starts the
 * engine. Empty if this machine cannot start the engine.
 */
export async function engineSocket(name: EngineName): Promise<string> {
  if (inject('part') === 'pure')
    throw new Error(
      `a pure test asks for ${name}: put "// @suite system" in the first line of the test file`,
    );
  return startedOnce(name);
}

/**
 * The runtimes that a test file uses. The first one is tested by default, and the suite `engines` tests the others in
 * another run of the same file. Everything in the file has to depend on the result, or runs twice.
 */
export function sharedOut<T>(runtimes: readonly T[]): readonly T[] {
  return inject('part') === 'others' ? runtimes.slice(1) : runtimes.slice(0, 1);
}
