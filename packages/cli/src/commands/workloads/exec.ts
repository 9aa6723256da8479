import type { Client } from '@toolhive/contract/client';
import type { ExecEvent } from '@toolhive/contract/exec';
import { ThvError, invalid, messageOf } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { shownWorkload } from '../endpoint.ts';

type Ended = Extract<ExecEvent, { type: 'ended' }>;

/** Runs the program of a workload once with other arguments, and connects it to the standard input and output of this process. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: words, rest, out, client, signal } = call;
  const [name = ''] = words;
  if (rest.length === 0) {
    const hint = `put them after --: thv exec ${name} -- ARGUMENTS`;
    throw invalid("the program's arguments are missing", { hint });
  }
  const daemon = await client();
  const { exit_code: code, reason, starts } = await follow(daemon, call);
  process.exitCode = code ?? 1;
  if (code !== 0) return out.note(`the program ${reason}`);
  if (!starts) return;
  await daemon.startWorkload({ params: { name } }, { signal, onProgress: out.progress });
  const { url } = shownWorkload(await daemon.getWorkload({ params: { name } }, { signal }));
  out.record({ type: 'running', url }, `${name} runs at ${url}`);
}

async function follow(daemon: Client, call: CommandCall): Promise<Ended> {
  const { arguments: words, rest, out, signal } = call;
  const [name = ''] = words;
  const over = new AbortController();
  const events = await daemon.execWorkload({ params: { name }, body: { args: [...rest] } }, { signal });
  try {
    for await (const { event } of events) {
      if (event.type === 'progress') out.progress(event.message);
      else if (event.type === 'started') passOnInput(daemon, call, over.signal);
      else if (event.type === 'output') out.piece(event, event.stream, event.text);
      else if (event.type === 'failed') throw failureOf(event);
      else return event;
    }
  } finally {
    over.abort();
    process.stdin.destroy(); // an open pipe would keep this process running
  }
  throw new Error('the daemon stopped before the program had ended');
}

function failureOf({ kind, message, hint }: Extract<ExecEvent, { type: 'failed' }>): Error {
  return kind === 'internal' ? new Error(message) : new ThvError(kind, message, { hint });
}

/** Sends the standard input of this process, piece after piece, until its end or that of the program. */
function passOnInput(daemon: Client, { arguments: words, out }: CommandCall, signal: AbortSignal): void {
  const [name = ''] = words;
  const send = (body: { text?: string; end?: boolean }): Promise<void> =>
    daemon.sendExecInput({ params: { name }, body }, { signal });
  const passOn = async (): Promise<void> => {
    for await (const text of process.stdin.setEncoding('utf8')) await send({ text: String(text) });
    await send({ end: true });
  };
  passOn().catch((thrown: unknown) => {
    // A program that has ended reads no more.
    const isOver = signal.aborted || (thrown instanceof ThvError && thrown.kind === 'conflict');
    if (!isOver) out.note(`the program gets no more input: ${messageOf(thrown)}`);
  });
}
