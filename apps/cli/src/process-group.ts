import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { guard } from './guard.ts';

/** How long everything gets to end by itself. */
const graceMs = 5_000;

/** A program and everything that it starts. Disposing of it ends all of them; so does the end of this process. */
export interface ProcessGroup extends AsyncDisposable {
  output: readonly [Readable, Readable];
  /** How the program has ended, or the code of why it was never there. What it has started may still be there. */
  ended: Promise<string>;
  hasEnded: () => boolean;
}

/** Starts a program in a group of its own, without input. */
export function startGroup(
  program: string,
  words: readonly string[],
  env: Readonly<NodeJS.ProcessEnv>,
): ProcessGroup {
  const child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const guarded = child.pid === undefined ? undefined : guard(child.pid);
  let isOver = false;
  const ended = endOf(child).finally(() => (isOver = true));
  const closed = once(child, 'close').catch(() => {}); // it was never there
  return {
    output: [child.stdout, child.stderr],
    ended,
    hasEnded: () => isOver,
    async [Symbol.asyncDispose]() {
      if (child.pid === undefined) return;
      await endGroup(child.pid);
      // The last that was written; something that has left the group may hold the pipes for ever.
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

/** False when no process of the group is left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false; // it has ended
  }
}
