import { invalid } from '@toolhive/contract/failure';
import { commands } from './commands/commands.ts';
import { processOut } from './out.ts';
import { buildProgram } from './program.ts';
import type { Invocation } from './program.ts';
import { reportFailure } from './report.ts';

/** Runs one command line. The process ends by itself when everything is done. */
export async function main(words: readonly string[]): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => interrupted.abort());
  // A reader that has seen enough (`thv list | head`) is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    const invocation = parse(words);
    if (invocation !== undefined) await carryOut(invocation, interrupted.signal);
  } catch (thrown) {
    process.exitCode = interrupted.signal.aborted ? 130 : reportFailure(thrown);
  }
}

function parse(words: readonly string[]): Invocation | undefined {
  let invocation: Invocation | undefined;
  const program = buildProgram(commands, (understood) => (invocation = understood));
  try {
    if (words.length === 0) program.outputHelp();
    else program.parse([...words], { from: 'user' });
  } catch (thrown) {
    if (!isParserError(thrown)) throw thrown;
    if (thrown.exitCode === 0) return undefined; // help was asked for, and printed
    throw invalid(mistakeOf(thrown.message), {
      hint: '`thv --help` lists the commands, `thv COMMAND --help` their flags',
    });
  }
  return invocation;
}

function isParserError(thrown: unknown): thrown is { exitCode: number; message: string } {
  return thrown instanceof Error && 'exitCode' in thrown;
}

/** The parser begins its sentences with `error:`; so do we. */
function mistakeOf(message: string): string {
  return message.replace(/^error: /, '').replace('(outputHelp)', 'a command is missing');
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
