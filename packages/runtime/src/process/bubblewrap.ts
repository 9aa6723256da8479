import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Exit } from '../runtime.ts';
import { type SandboxPlan, descriptors } from './plan.ts';
import { inheritableDescriptors } from './proc.ts';

export interface BubblewrapCall {
  bwrap: string;
  plan: SandboxPlan;
  /** Whether standard input and output are the server's protocol; otherwise it has no input, and output is log. */
  speaks: boolean;
}

/** Starts bubblewrap with a descriptor for each thing that it reads, and without any other that the hive has open. */
export function spawnBubblewrap({ bwrap, plan, speaks }: BubblewrapCall): ChildProcess {
  const nothing = openSync('/dev/null', 'r+');
  try {
    const stdio: StdioOptions = [speaks ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'];
    stdio[descriptors.channel] = plan.channel ? 'ipc' : nothing;
    for (const _ of plan.contents) stdio.push('pipe');
    const inherited = inheritableDescriptors().filter((descriptor) => descriptor >= stdio.length);
    for (const descriptor of inherited) stdio[descriptor] = nothing;
    return spawn(bwrap, ['--args', String(descriptors.options), '--', ...plan.command], {
      env: {}, // inside, /proc/1/environ shows what bubblewrap itself was started with
      cwd: '/',
      detached: true, // a Ctrl-C meant for the hive is not for bubblewrap
      stdio: Array.from(stdio, (entry) => entry ?? 'ignore'),
    });
  } finally {
    closeSync(nothing);
  }
}

interface RawExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Never rejects: a bubblewrap that could not even be started has ended, too. */
export function exitOf(child: ChildProcess): Promise<RawExit> {
  const { promise, resolve } = Promise.withResolvers<RawExit>();
  child.on('exit', (code, signal) => resolve({ code, signal }));
  child.on('error', () => {
    if (child.pid === undefined) resolve({ code: null, signal: null });
  });
  return promise;
}

/** bubblewrap reports a server that died of a signal the way shells do, as 128 and the signal's number. */
export function exitFrom(code: number | null): Exit {
  const signal = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
  return signal === undefined ? { code, signal: null } : { code: null, signal };
}

const STATUS_LIMIT = 16_384;

/** Reads what bubblewrap tells about itself: one JSON object a line. */
export class StatusReader {
  readonly childPid: Promise<number>;
  readonly ended: Promise<void>;
  exitCode: number | undefined;

  constructor(stream: Readable) {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.childPid = promise;
    this.ended = finished(stream);
    this.ended.catch(() => {}); // whoever waits for it learns it; nobody has to
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

/** What bubblewrap says on standard error while it sets up the sandbox. */
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
