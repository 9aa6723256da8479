import { messageOf } from '@toolhive/contract/failure';
import { escaped } from '@toolhive/contract/printable';
import type { Logger } from 'pino';
import type { LogFile } from '@toolhive/state/logs';

/** Notes about one workload: in the daemon's log, and while the workload runs also in its proxy's log. */
export class WorkloadLog {
  readonly #log: Logger;
  /** The proxy's log, which users can read. */
  proxyLog: LogFile | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  note(level: 'info' | 'warn' | 'error', fields: Record<string, unknown>, message: string): void {
    this.#log[level](fields, message);
    const { err, ...told } = fields;
    const line = { time: new Date().toISOString(), level, msg: message, ...told };
    // Without the stack trace, which is of no use to users.
    const shown = err === undefined ? line : { ...line, err: messageOf(err) };
    this.proxyLog?.write(`${escaped(JSON.stringify(shown))}\n`);
  }
}
