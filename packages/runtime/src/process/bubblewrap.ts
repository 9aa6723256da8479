import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Exit } from '../runtime.ts';
import { type SandboxPlan, descriptors } from './plan.ts';
import { spawnSealed } from '../spawn.ts';

export interface BubblewrapCall {
  bwrap: string;
  plan: SandboxPlan;
  /** A program that runs bubblewrap, and its arguments. By default, the daemon does. */
  wrapper?: readonly string[];
  /**
   * Whether standard input and output carry the server's protocol. Otherwise the server has no input, and its output
   * is log.
   */
  speaks: boolean;
  /** The network namespace to start in, if not a new one. */
  entering?: NamespaceToEnter | undefined;
}

/** Descriptors of this process, which stay open until the sandbox is set up. */
export interface NamespaceToEnter {
  nsenter: string;
  network: number;
  user: number;
}

/**
 * Starts bubblewrap with one descriptor per input. The empty environment matters, because /proc/1/environ inside
 * shows bubblewrap's own environment.
 */
export function spawnBubblewrap({
  bwrap,
  plan,
  wrapper = [],
  speaks,
  entering,
}: BubblewrapCall): ChildProcess {
  const channel = plan.channel ? 'ipc' : undefined;
  const carried = ['pipe', 'pipe', 'pipe', channel] as const; // in the order of `descriptors`
  const contents = plan.contents.map(() => 'pipe' as const);
  const [program, ...args] = [...(entering === undefined ? [] : enter(entering)), ...wrapper, bwrap];
  return spawnSealed(
    program ?? bwrap,
    [...args, '--args', String(descriptors.options), '--', ...plan.command],
    [speaks ? 'pipe' : undefined, 'pipe', 'pipe', ...carried, ...plan.sources, ...contents],
  );
}

/** Named by the daemon's descriptors and not by inherited ones, which the server would find open. */
function enter({ nsenter, network, user }: NamespaceToEnter): string[] {
  const [networkPath, userPath] = [network, user].map(
    (descriptor) => `/proc/${process.pid}/fd/${descriptor}`,
  );
  return [nsenter, `--net=${networkPath}`, `--user=${userPath}`, '--preserve-credentials'];
}

/** bubblewrap reports a server that died of a signal the way shells do, as 128 and the signal's number. */
export function exitFrom(code: number | null): Exit {
  const signal = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
  return signal === undefined ? { code, signal: null } : { code: null, signal };
}

const STATUS_LIMIT = 16_384;

/** Reads bubblewrap's status reports: one JSON object per line. */
export class StatusReader {
  readonly childPid: Promise<number>;
  readonly ended: Promise<void>;
  exitCode: number | undefined;

  constructor(stream: Readable) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.childPid = promise;
    this.ended = finished(stream);
    this.ended.catch(() => {}); // callers that wait receive the error, and waiting is optional
    let text = '';
    stream.setEncoding('utf8').on('error', () => {});
    stream.on('data', (chunk: string) => {
      if (text.length < STATUS_LIMIT) text += chunk;
      const number = (field: string) => new RegExp(`"${field}":\\s*(\\d+)`).exec(text)?.[1];
      const pid = number('child-pid');
      const code = number('exit-code');
      if (pid !== undefined) resolve(Number(pid));
      if (code !== undefined) this.exitCode = Number(code);
    });
  }
}

const COMPLAINT_LIMIT = 4096;

/** Bubblewrap's standard error during the setup of the sandbox. */
export class Complaints {
  readonly #stream: Readable | null;
  #text = '';

  constructor(stream: Readable | null) {
    this.#stream = stream;
    stream?.on('data', this.#listen);
  }

  ignore(): void {
    this.#stream?.off('data', this.#listen);
  }

  describe(): string {
    const complaint = /^bwrap: (.*)$/m.exec(this.#text)?.[1];
    return `the sandbox could not be set up: ${complaint ?? 'bubblewrap did not start'}`;
  }

  readonly #listen = (chunk: Buffer): void => {
    if (this.#text.length < COMPLAINT_LIMIT) this.#text += chunk.toString();
  };
}
