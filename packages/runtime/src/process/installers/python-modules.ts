import { ThvError } from '@toolhive/contract/failure';
import { inside } from '../plan.ts';
import type { Python } from './python.ts';
import { type InstallContext, runTool } from './tool.ts';

/**
 * Compiles the modules of an environment, which would take seconds at each start, because servers cannot write beside
 * verified code. The interpreter of the machine reads the sources and runs none of them: `-I` and `-S` leave the
 * environment and its `.pth` files out. Each compiled file is bound to the hash of its source, so that the source decides.
 * An environment that cannot be compiled starts more slowly.
 */
export async function compileModules(
  environment: string,
  { path, readOnlyPaths }: Python,
  context: InstallContext,
): Promise<void> {
  const limited = AbortSignal.any([context.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const place = `${inside.package}/${environment}/lib`;
  try {
    await runTool(
      { name: 'Python', command: [path, '-I', '-S', '-m', 'compileall', ...options, place], readOnlyPaths },
      { ...context, signal: limited },
    );
  } catch (error) {
    if (context.signal.aborted || !(error instanceof ThvError)) throw error;
    context.report('the modules could not be compiled, so the server starts more slowly');
  }
}

/** Replaces compiled files that came with a package, and leaves out tests, which are a large part of some packages. */
const options = ['-f', '-qq', '-j', '0', '-x', '/tests?/', '--invalidation-mode', 'checked-hash'];

const TIMEOUT_MS = 5 * 60_000;
