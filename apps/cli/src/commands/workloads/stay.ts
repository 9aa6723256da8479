import type { Client } from '@toolhive/contract/client';
import { ThvError, messageOf, unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { followLog } from './log-text.ts';

/** How long cleaning up may take after Ctrl-C. */
const cleanUpMs = 30_000;

/** How much of what a server wrote before is shown to whoever stays. */
const earlierLines = 100;

/**
 * Shows what a server writes until Ctrl-C; then `leave` is called, with a signal of its own that gives it some time.
 * Throws when somebody else stops or removes the workload.
 */
export async function stayWith(
  name: string,
  { daemon, out, signal }: Pick<CommandCall, 'out' | 'signal'> & { daemon: Client },
  leave: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const stopped = untilStopped(name, daemon, either).then(
    () => over.abort(),
    () => {}, // whoever reads the log is told, too
  );
  try {
    await followLog(out, (onText) =>
      daemon.getWorkloadLogs(
        { params: { name }, query: { follow: 'true', tail: earlierLines } },
        { signal: either, onText },
      ),
    );
  } catch (thrown) {
    if (!either.aborted) throw thrown;
  } finally {
    over.abort();
    await stopped;
  }
  if (!signal.aborted) throw unavailable(`${name} was stopped or removed by somebody else`);
  await cleanUp(name, out, leave);
}

/** Returns when the workload is stopped. */
async function untilStopped(name: string, daemon: Client, signal: AbortSignal): Promise<void> {
  const events = await daemon.watchEvents({ headers: {} }, { signal });
  // It may have been stopped before the first event that comes.
  const { status } = await daemon.getWorkloadStatus({ params: { name } }, { signal });
  if (status === 'stopped') return;
  for await (const { event } of events) {
    if (event.type === 'workload.changed' && event.name === name && event.status === 'stopped') return;
  }
}

/**
 * Does what is left to do after Ctrl-C, with a signal of its own. What somebody else has removed meanwhile is as gone as
 * it should be; of any other failure people are told here, as the exit code only says that they wanted to stop.
 */
export async function cleanUp(
  name: string,
  out: CommandCall['out'],
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = AbortSignal.timeout(cleanUpMs);
  try {
    await work(limit);
  } catch (thrown) {
    if (thrown instanceof ThvError && thrown.kind === 'not-found') return;
    const why = limit.aborted ? `it took longer than ${cleanUpMs / 1000} seconds` : messageOf(thrown);
    out.note(`${name} may still be there: ${why}; \`thv list --all\` tells`);
    throw thrown;
  }
}
