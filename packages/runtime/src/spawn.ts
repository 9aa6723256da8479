import { type ChildProcess, type SerializationType, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { invalid, unavailable } from '@toolhive/contract/failure';

/** What to do when the daemon may not open enough files. */
export const openFilesHint = 'raise the limit on open files for the daemon, for example with: ulimit -n 4096';

/**
 * Starts a program that inherits nothing from the daemon: no environment but the given one, and only the descriptors named, of which
 * the undefined ones are `/dev/null`.
 */
export function spawnSealed(
  program: string,
  args: readonly string[],
  given: readonly (Exclude<StdioOptions, string>[number] | undefined)[],
  { serialization = 'json', env = {} }: { serialization?: SerializationType; env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  const nothing = openSync('/dev/null', 'r+');
  try {
    const stdio = Array.from(given, (entry) => entry ?? nothing);
    const inherited = inheritableDescriptors().filter((descriptor) => descriptor >= stdio.length);
    const highest = Math.max(stdio.length - 1, ...inherited);
    while (stdio.length <= highest) stdio.push(inherited.includes(stdio.length) ? nothing : 'ignore');
    const child = spawn(program, args, {
      env,
      cwd: '/',
      detached: true, // Ctrl-C for the daemon must not reach its child processes
      stdio,
      serialization,
    });
    if (child.pid === undefined) requireStreams(child, program);
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'E2BIG') throw error;
    throw invalid('the arguments and variables of the program are too long for this system', {
      hint: 'put long ones into a file, and mount the file',
      cause: error,
    });
  } finally {
    closeSync(nothing);
  }
}

/** Node.js gives a child no streams at all when no more files can be opened, and tells the error later. */
function requireStreams(child: ChildProcess, program: string): void {
  const stdio: unknown = child.stdio;
  if (stdio !== undefined) return;
  child.on('error', () => {}); // told here
  throw unavailable(`${program} cannot be started: too many open files`, { hint: openFilesHint });
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

const CLOSE_ON_EXEC = 0o2000000;

/**
 * File descriptors that the parent process left open for all children. Node closes none of them when it starts a
 * program, and a server must not inherit one.
 */
function inheritableDescriptors(): number[] {
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => descriptor > 2)
    .filter((descriptor) => {
      const flags = /^flags:\s+(\d+)/m.exec(readInfo(descriptor))?.[1];
      return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
    });
}

function readInfo(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  } catch {
    return ''; // closed meanwhile
  }
}
