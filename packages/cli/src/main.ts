import { standardOutput } from './standard-streams.ts';
import { programFor } from './commands/topics.ts';
import { formatOf } from './command.ts';
import { removeRelativeHome } from './home.ts';
import { processOut } from './out.ts';
import type { OutputFormat } from './out.ts';
import { understand } from './program.ts';
import type { Invocation } from './program.ts';
import { reportFailure } from './report.ts';
import { allowOwner } from './umask.ts';

/** Runs one command line. The process ends when all work is done. */
export async function main(words: readonly string[]): Promise<void> {
  removeRelativeHome(process.env);
  allowOwner();
  const interruption = new Interruption();
  // What was typed may not be understood, and that is said in the way that was asked for, too.
  let debug = words.includes('--debug');
  let format: OutputFormat = asksForJson(words) ? 'json' : 'text';
  try {
    const understood = await understand(await programFor(words), words);
    if ('help' in understood) standardOutput.write(understood.help);
    else {
      debug = understood.flags.has('debug');
      format = formatOf(understood.command, understood.flags);
      await carryOut(understood, { interruption, debug, format });
    }
  } catch (thrown) {
    process.exitCode = interruption.hasHappened ? 130 : reportFailure(thrown, { debug, format });
  }
}

function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return /(^| )--format[= ]json( |$)/.test(words.slice(0, end === -1 ? undefined : end).join(' '));
}

async function carryOut(
  invocation: Invocation,
  { interruption, debug, format }: { interruption: Interruption; debug: boolean; format: OutputFormat },
): Promise<void> {
  const { command, arguments: given, flags, rest } = invocation;
  const { run } = await command.load();
  const out = processOut(format);
  const done = run({
    arguments: given,
    flags,
    rest,
    out,
    get signal() {
      return interruption.signal;
    },
    client: async () => {
      const { connectToDaemon } = await import('./daemon.ts');
      return connectToDaemon({ note: out.note, signal: interruption.signal, debug });
    },
  });
  await done.catch(async (thrown: unknown) => {
    const { withNearestName } = await import('./did-you-mean.ts');
    throw await withNearestName(thrown, invocation);
  });
}

/** The signals that end this process. A command that does not ask for them ends as any program does, and starts sooner. */
class Interruption {
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
        process.once(signal, () => controller.abort());
    }
    return this.#controller.signal;
  }

  get hasHappened(): boolean {
    return this.#controller?.signal.aborted === true;
  }
}
