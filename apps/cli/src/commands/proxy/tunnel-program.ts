import { createInterface } from 'node:readline';
import { unavailable } from '@toolhive/contract/failure';
import { startGroup } from '../../process-group.ts';
import { untilAborted } from '../../wait.ts';

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

/** Runs the program until it is told to end. Throws `unavailable` when it is not there, or ends by itself. */
export async function runTunnel(
  { program, howToGet, read }: TunnelProvider,
  { arguments: words, env }: TunnelLaunch,
  { signal, note, onOpen }: TunnelOptions,
): Promise<void> {
  signal.throwIfAborted();
  await using group = startGroup(program, words, { ...process.env, ...env });
  const problems: string[] = [];
  const hear = (line: string): void => {
    const { url, problem } = read(line);
    if (url !== undefined) onOpen(url);
    if (problem === undefined) return;
    problems.push(problem);
    note(`${program}: ${problem}`);
  };
  for (const input of group.output) createInterface({ input }).on('line', hear);
  await Promise.race([group.ended, untilAborted(signal)]);
  // Before anything is said of it: what it wrote last may say why.
  await group[Symbol.asyncDispose]();
  if (signal.aborted) return;
  const failure = await group.ended;
  if (failure === 'ENOENT') throw unavailable(`there is no program ${program} here`, { hint: howToGet });
  const why = problems.at(-1);
  throw unavailable(`${program} has ended (${failure})${why === undefined ? '' : `: ${why}`}`);
}
