import { commands } from './commands/commands.ts';
import { processOut } from './out.ts';
import { understand } from './program.ts';
import type { Invocation } from './program.ts';
import { reportFailure } from './report.ts';

/** Runs one command line. The process ends by itself when everything is done. */
export async function main(words: readonly string[]): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => interrupted.abort());
  // A reader that has seen enough (`thv list | head`) is no failure.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
  try {
    const invocation = await understand(commands, words);
    if (invocation !== undefined) await carryOut(invocation, interrupted.signal);
  } catch (thrown) {
    process.exitCode = interrupted.signal.aborted ? 130 : reportFailure(thrown);
  }
}

async function carryOut(
  { command, arguments: given, flags, rest }: Invocation,
  signal: AbortSignal,
): Promise<void> {
  const { run } = await command.load();
  const out = processOut();
  await run({
    arguments: given,
    flags,
    rest,
    out,
    signal,
    client: async () => {
      const { connectToHive } = await import('./hive.ts');
      return connectToHive({ note: out.note, signal });
    },
  });
}
