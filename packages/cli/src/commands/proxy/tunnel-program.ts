import { createInterface } from 'node:readline';
import { unavailable } from '@toolhive/contract/failure';
import { startGroup } from '../../process-group.ts';
import { untilAborted } from '../../wait.ts';

/** A program that gives a local listener a public URL. */
export interface TunnelProvider {
  program: string;
  /** How to install the program. */
  howToGet: string;
  /** The command line for this endpoint. Throws `invalid` for unknown settings. */
  launch: (endpoint: URL, settings: object) => TunnelLaunch;
  /** What a line of its output says. */
  read: (line: string) => { url?: string; problem?: string };
}

export interface TunnelLaunch {
  arguments: readonly string[];
  /** Beside that of this process. */
  env: Readonly<Record<string, string>>;
  /** Whether to only print the command line. */
  isDry: boolean;
}

export interface TunnelOptions {
  signal: AbortSignal;
  note: (text: string) => void;
  /** Called with the public URL, and again after a change. */
  onOpen: (url: string) => void;
}

/** Runs the program until a signal stops it. Throws `unavailable` if the program is missing or ends by itself. */
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
  // First, because the last output may contain the reason.
  await group[Symbol.asyncDispose]();
  if (signal.aborted) return;
  const failure = await group.ended;
  if (failure === 'ENOENT') throw unavailable(`${program} is not installed`, { hint: howToGet });
  const why = problems.at(-1);
  throw unavailable(`${program} has ended (${failure})${why === undefined ? '' : `: ${why}`}`);
}
