import type { Client } from '@toolhive/contract/client';
import { ThvError, unavailable } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { followLog } from './log-text.ts';

/** How long cleaning up may take after Ctrl-C. */
export const cleanUpMs = 30_000;

/** How much of what a server wrote before is shown to whoever stays. */
const earlierLines = 100;

/**
 * Shows what a server writes until Ctrl-C or until the workload is removed by somebody else; then `leave` is called,
 * with a signal of its own that gives it some time.
 */
export async function stayWith(
  name: string,
  { hive, out, signal }: Pick<CommandCall, 'out' | 'signal'> & { hive: Client },
  leave: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    await followLog(out, (onText) =>
      hive.getWorkloadLogs(
        { params: { name }, query: { follow: 'true', tail: earlierLines } },
        { signal, onText },
      ),
    );
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
  if (!signal.aborted) throw unavailable(`${name} is not there any more`);
  await leave(AbortSignal.timeout(cleanUpMs)).catch(unlessGone);
}

/** What somebody else has removed meanwhile is as gone as it should be. */
export function unlessGone(thrown: unknown): void {
  if (!(thrown instanceof ThvError) || thrown.kind !== 'not-found') throw thrown;
}
