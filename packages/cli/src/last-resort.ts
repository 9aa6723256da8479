import { messageOf } from '@toolhive/contract/failure';
import type { Logger } from 'pino';

/** How long the daemon may take to end in good order after a fault. */
const endMs = 20_000;

/**
 * Passes an uncaught exception or rejection to the workload that caused it, if `takeFault` finds one. Otherwise calls `end`,
 * because the process state is then unknown. Gives the process a limited time for an orderly end. The next daemon restores
 * the desired state.
 */
export function endOnFault(
  log: Logger,
  { takeFault, end }: { takeFault: (fault: unknown) => boolean; end: (fault: Error) => void },
): void {
  let isEnding = false;
  process.on('uncaughtException', (error: unknown, origin) => {
    if (!isEnding && takeFault(error)) return;
    log.fatal({ err: error, reason: messageOf(error), origin }, 'uncaught failure, the daemon ends');
    process.exitCode = 1;
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), endMs).unref();
    end(
      new Error(`the daemon ended because of an unexpected failure: ${messageOf(error)}`, { cause: error }),
    );
  });
}
