import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { guard } from './guard.ts';

/** How long the processes may take to exit. */
const graceMs = 5_000;

/** A program and all its child processes. Disposal ends all of them, and so does the end of this process. */
export interface ProcessGroup extends AsyncDisposable {
  output: readonly [Readable, Readable];
  /** The program's exit, or the error code if it could not start. Its child processes may still exist. */
  ended: Promise<string>;
  hasEnded: () => boolean;
}

/** Starts a program in a new process group, without input. */
export function startGroup(
  program: string,
  words: readonly string[],
  env: Readonly<NodeJS.ProcessEnv>,
): ProcessGroup {
  const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const guarded = child.pid === undefined ? undefined : guard(child.pid);
  let isOver = false;
  const ended = endOf(child).finally(() => (isOver = true));
  const closed = once(child, 'close').catch(() => {}); // the program never started
  return {
    output: [child.stdout, child.stderr],
    ended,
    hasEnded: () => isOver,
    async [Symbol.asyncDispose]() {
      if (child.pid === undefined) return;
      await endGroup(child.pid);
      // The last output. A process outside the group may keep the pipes open forever.
      await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
      guarded?.[Symbol.dispose]();
    },
  };
}

async function endOf(child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> {
  try {
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, string | null];
    return killedBy === null ? `exit code ${code}` : `signal ${killedBy}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

async function endGroup(group: number): Promise<void> {
  signalGroup(group, 'SIGTERM');
  const deadline = performance.now() + graceMs;
  while (signalGroup(group, 0) && performance.now() < deadline) await delay(50);
  signalGroup(group, 'SIGKILL');
}

/** Returns false if the group has no processes left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false; // it has ended
  }
}
