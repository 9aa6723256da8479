import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@toolhive/contract/failure';
import { guard } from '../../guard.ts';

/** A program that gives what listens on this machine a public URL. */
export interface TunnelProvider {
  program: string;
  /** What to do when it is not there. */
  howToGet: string;
  /** How it is started for this endpoint. Throws `invalid` for settings that it does not know. */
  launch: (endpoint: URL, settings: object) => TunnelLaunch;
  /** What a line of its output says. */
  read: (line: string) => { url?: string; problem?: string };
}

export interface TunnelLaunch {
  arguments: readonly string[];
  /** Beside that of this process. */
  env: Readonly<Record<string, string>>;
  /** It is only told how it would be started. */
  isDry: boolean;
}

export interface TunnelOptions {
  signal: AbortSignal;
  note: (text: string) => void;
  /** Told the public URL, again when it has changed. */
  onOpen: (url: string) => void;
}

/** How long the program has to end by itself. */
const endingMs = 5_000;

/** Runs the program until it is told to end. Throws `unavailable` when it is not there, or ends by itself. */
export async function runTunnel(
  { program, howToGet, read }: TunnelProvider,
  { arguments: words, env }: TunnelLaunch,
  { signal, note, onOpen }: TunnelOptions,
): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(program, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own, so that everything it starts can be ended with it.
    detached: true,
  });
  using guarded = new DisposableStack();
  if (child.pid !== undefined) guarded.use(guard(child.pid));
  const ended = exitOf(child);
  const problems: string[] = [];
  const hear = (line: string): void => {
    const { url, problem } = read(line);
    if (url !== undefined) onOpen(url);
    if (problem === undefined) return;
    problems.push(problem);
    note(`${program}: ${problem}`);
  };
  createInterface({ input: child.stdout }).on('line', hear);
  createInterface({ input: child.stderr }).on('line', hear);
  const end = (): void => void endOf(child, ended);
  signal.addEventListener('abort', end, { once: true });
  try {
    const failure = await ended;
    if (signal.aborted) return;
    if (failure === 'ENOENT') throw unavailable(`there is no program ${program} here`, { hint: howToGet });
    const why = problems.at(-1);
    throw unavailable(`${program} has ended (${failure})${why === undefined ? '' : `: ${why}`}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** How it has ended, or why it was never there. */
async function exitOf(child: ChildProcess): Promise<string> {
  try {
    const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
    return killedBy === null ? `exit code ${code}` : `signal ${killedBy}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

async function endOf(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const over = new AbortController();
  const late = delay(endingMs, undefined, { signal: over.signal }).then(
    () => child.kill('SIGKILL'),
    () => false, // it has ended in time
  );
  await ended;
  over.abort();
  await late;
}
