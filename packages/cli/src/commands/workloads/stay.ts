import type { Client } from '@toolhive/contract/client';
import { ThvError, messageOf, unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { followLog } from './log-text.ts';

/** How long cleaning up may take after Ctrl-C. */
const cleanUpMs = 30_000;

/** How much earlier output is shown when attaching. */
const earlierLines = 100;

/**
 * Shows a server's output until Ctrl-C, and then calls `leave` with a time limit. Throws if another command stops or
 * removes the workload.
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
    () => {}, // the reader of the log is told, too
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
  if (!signal.aborted) throw unavailable(`${name} was stopped or removed by another command`);
  await cleanUp(name, out, leave);
}

/** Returns when the workload is stopped. */
async function untilStopped(name: string, daemon: Client, signal: AbortSignal): Promise<void> {
  const events = await daemon.watchEvents({ headers: {} }, { signal });
  // The workload may have stopped before the first event.
  const { status } = await daemon.getWorkloadStatus({ params: { name } }, { signal });
  if (status === 'stopped') return;
  for await (const { event } of events) {
    if (event.type === 'workload.changed' && event.name === name && event.status === 'stopped') return;
  }
}

/**
 * Cleans up after Ctrl-C, with a time limit. Ignores a workload that is already gone. Reports other failures here,
 * because the exit code only reports the interruption.
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
    const why = limit.aborted
      ? `the operation took longer than ${cleanUpMs / 1000} seconds`
      : messageOf(thrown);
    out.note(`${name} may still exist: ${why}. Run thv list --all to check`);
    throw thrown;
  }
}
