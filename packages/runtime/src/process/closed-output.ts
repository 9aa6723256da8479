import { readdirSync, readlinkSync } from 'node:fs';
import { familyOf, isAlive } from '../proc.ts';
import type { Sandbox } from './sandbox.ts';

const INTERVAL_MS = 2_000;

/**
 * Ends a server that closes its standard output and lives on, because no answer of it can arrive. Bubblewrap keeps the
 * output open, so its reader sees no end.
 */
export class OutputWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #wasClosed = false;

  constructor(sandbox: Sandbox) {
    this.#timer = setInterval(() => {
      if (!hasClosedOutput(sandbox)) return;
      this.#wasClosed = true;
      this[Symbol.dispose]();
      sandbox.kill();
    }, INTERVAL_MS);
    this.#timer.unref();
  }

  /** Why the server was ended, as a phrase that continues "the server". Undefined if it was not ended. */
  get reason(): string | undefined {
    return this.#wasClosed ? 'closed its standard output' : undefined;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/**
 * Whether no server process can write to the standard output, which the sandbox's first process has too. A
 * process that cannot be inspected may write.
 */
export function hasClosedOutput({ init, pid: server }: Pick<Sandbox, 'init' | 'pid'>): boolean {
  const output = targetOf(init, '1');
  if (output === undefined || targetOf(server, '1') === output) return false;
  // A server can keep its output under another number, or leave the work to another process.
  const members = familyOf(init).filter((pid) => pid !== init && isAlive(pid));
  return members.length > 0 && members.every((pid) => descriptorsOf(pid)?.includes(output) === false);
}

function descriptorsOf(pid: number): (string | undefined)[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((descriptor) => targetOf(pid, descriptor));
  } catch {
    return undefined; // it has ended, or belongs to another user
  }
}

function targetOf(pid: number, descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
  } catch {
    return undefined;
  }
}
