import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { raiseFault } from '@toolhive/contract/fault';
import { ThvError, conflict, messageOf, unsupported } from '@toolhive/contract/failure';
import type { ExecEvent } from '@toolhive/contract/exec';
import type { Sent } from '@toolhive/contract/operation';
import { internalFailure } from '@toolhive/contract/wire';
import { describeExit } from '@toolhive/runtime/runtime';
import type { Exit } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import { ProgramOutput } from '../supervision/program-output.ts';

/**
 * Runs the program of a workload once with other arguments, in place of its server. Returns events, of which
 * the last one says how the program ended. The program ends with the signal.
 */
export async function execWorkload(
  core: Core,
  name: string,
  { args }: { args: readonly string[] },
  signal: AbortSignal,
): Promise<AsyncGenerator<Sent<ExecEvent>, void, void>> {
  const supervisor = core.workloads.require(name);
  const { remote_url: url, built_in: builtIn } = supervisor.runConfig;
  if (url || builtIn !== undefined) {
    throw unsupported(`workload ${name} has no program on this machine`, {
      hint: url ? 'its remote server has its own sign-in, which the workload starts' : undefined,
    });
  }
  await core.mounts.renew(supervisor.id);
  const output = new ProgramOutput();
  const { ended, starts } = await supervisor.exec(args, output, signal);
  const told = ended.then(
    (exit) => output.add(endedEvent(exit, starts)),
    (thrown: unknown) => {
      if (!signal.aborted) output.add(failedEvent(core, name, thrown)); // otherwise the caller has left
    },
  );
  told.finally(() => output.end()).catch(raiseFault);
  return numbered(output);
}

function endedEvent(exit: Exit, starts: boolean): ExecEvent {
  const code = exit.code === null ? {} : { exit_code: exit.code };
  return { type: 'ended', ...code, reason: describeExit(exit), starts };
}

function failedEvent(core: Core, name: string, thrown: unknown): ExecEvent {
  if (thrown instanceof ThvError) {
    const { kind, message, hint } = thrown;
    return { type: 'failed', kind, message, ...(hint === undefined ? {} : { hint }) };
  }
  core.log.error({ workload: name, err: thrown, reason: messageOf(thrown) }, 'unexpected failure');
  return { type: 'failed', kind: 'internal', message: internalFailure.text };
}

async function* numbered(output: ProgramOutput): AsyncGenerator<Sent<ExecEvent>, void, void> {
  let id = 0;
  for await (const event of output) yield { id: String((id += 1)), event };
}

/** How much input may wait for a program that does not read. */
const maxWaitingBytes = 1024 ** 2;

/** Writes to the standard input of the program that runs in place of the server. Returns when there is room for more. */
export async function sendExecInput(
  core: Core,
  name: string,
  { text = '', end = false }: { text?: string | undefined; end?: boolean | undefined },
): Promise<void> {
  const { input } = core.workloads.require(name).live;
  if (input === undefined || !input.writable) {
    throw conflict(`no program that reads input runs for workload ${name}`, {
      hint: `start one first: thv exec ${name} -- ARGUMENTS`,
    });
  }
  if (input.writableLength > maxWaitingBytes)
    throw conflict(`the program of workload ${name} does not read its input`);
  const hasRoom = text === '' || input.write(text);
  if (end) input.end();
  else if (!hasRoom) await room(input);
}

/** Returns when a stream takes more, or has ended. */
async function room(stream: Writable): Promise<void> {
  const over = new AbortController();
  const events = ['drain', 'close'].map((event) => once(stream, event, { signal: over.signal }));
  await Promise.race(events).catch(() => {}); // an error ends the stream, too
  over.abort();
}
