import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { inheritableDescriptors } from './proc.ts';

/**
 * Starts a program that inherits nothing from the hive: no environment, and only the descriptors named, of which
 * the undefined ones are `/dev/null`.
 */
export function spawnSealed(
  program: string,
  args: readonly string[],
  given: readonly (Exclude<StdioOptions, string>[number] | undefined)[],
): ChildProcess {
  const nothing = openSync('/dev/null', 'r+');
  try {
    const stdio = Array.from(given, (entry) => entry ?? nothing);
    const inherited = inheritableDescriptors().filter((descriptor) => descriptor >= stdio.length);
    const highest = Math.max(stdio.length - 1, ...inherited);
    while (stdio.length <= highest) stdio.push(inherited.includes(stdio.length) ? nothing : 'ignore');
    return spawn(program, args, {
      env: {},
      cwd: '/',
      detached: true, // a Ctrl-C meant for the hive is not for what it started
      stdio,
    });
  } finally {
    closeSync(nothing);
  }
}

interface RawExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Never rejects: a program that could not even be started has ended, too. */
export function exitOf(child: ChildProcess): Promise<RawExit> {
  const { promise, resolve } = Promise.withResolvers<RawExit>();
  child.on('exit', (code, signal) => resolve({ code, signal }));
  child.on('error', () => {
    if (child.pid === undefined) resolve({ code: null, signal: null });
  });
  return promise;
}
