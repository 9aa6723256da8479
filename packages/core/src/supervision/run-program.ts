import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { raiseFault } from '@toolhive/contract/fault';
import { messageOf, noSpace, unavailable } from '@toolhive/contract/failure';
import type { Exit } from '@toolhive/runtime/runtime';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import { contain } from './containment.ts';
import type { LiveParts } from './live-parts.ts';
import { startLocalServer } from './local-server.ts';
import type { LocalServerOptions } from './local-server.ts';
import type { ProgramOutput } from './program-output.ts';
import { NotStopped, rejection } from './run-loop.ts';

export interface ProgramRun {
  args: readonly string[];
  live: LiveParts;
  output: ProgramOutput;
  /** Ends the program. */
  signal: AbortSignal;
}

/**
 * Runs the program of a local server once with other arguments, with everything else that its workload grants, and returns
 * how it ended. Throws `NotStopped` if it may still run. Its output reaches nothing but `output`, because it can contain
 * credentials.
 */
export async function runProgram(
  { id, runConfig }: StoredRunConfig,
  options: LocalServerOptions,
  { args, live, output, signal: given }: ProgramRun,
): Promise<Exit> {
  const fault = new AbortController();
  const signal = AbortSignal.any([given, fault.signal]);
  const onFault = (thrown: unknown): void =>
    fault.abort(unavailable(`an internal error of ToolHive ended it: ${messageOf(thrown)}`));
  return contain(onFault, async () => {
    let isRunning = false;
    const server = await startLocalServer(
      { id, runConfig: { ...runConfig, cmd_args: [...args], transport: 'stdio' } },
      options,
      {
        // The output of the program says everything that follows.
        report: (message) => (isRunning ? undefined : output.add({ type: 'progress', message })),
        live,
        signal,
        log: textsOf((text) => output.add({ type: 'output', stream: 'stderr', text })),
        onLimits: () => {},
      },
    );
    isRunning = true;
    try {
      const { stdio } = server.server;
      if (stdio === undefined) throw new Error('a program without standard input and output');
      live.input = openInput(stdio.input);
      output.add({ type: 'started' });
      const written = passOn(stdio.output, output);
      let exit: Exit | undefined;
      server.exited.then((ended) => (exit = ended)).catch(raiseFault);
      const how = await Promise.race([server.ended, rejection(signal)]);
      if (exit === undefined) throw noSpace(`the program ${how}`);
      await Promise.race([written, rejection(signal)]);
      return exit;
    } finally {
      live.input = undefined;
      await server.stop().catch((cause: unknown) => {
        throw new NotStopped(messageOf(cause), { cause });
      });
    }
  });
}

/** Ignores errors of the pipe to a program that has ended. */
function openInput(input: Writable): Writable {
  return input.on('error', () => {});
}

/** Passes on standard output at the speed of the reader. Returns at its end. */
async function passOn(stdout: Readable, output: ProgramOutput): Promise<void> {
  const take = textsOf((text) => output.add({ type: 'output', stream: 'stdout', text }));
  try {
    for await (const chunk of stdout) {
      take(chunk as Buffer);
      await output.room();
    }
  } catch {
    // The program was ended, so its output was, too.
  }
}

/** Decodes chunks, which can end within a character. */
function textsOf(take: (text: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  return (chunk) => take(decoder.write(chunk));
}
