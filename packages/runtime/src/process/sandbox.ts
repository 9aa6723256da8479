import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { cancelled, unavailable } from '@toolhive/contract/failure';
import type { Exit } from '../runtime.ts';
import { type SandboxPlan, descriptors } from './plan.ts';
import { childrenOf, inheritableDescriptors, isAlive, waitUntil } from './proc.ts';

export interface SandboxOptions {
  bwrap: string;
  plan: SandboxPlan;
  /** Whether standard input and output are the server's protocol; otherwise it has no input, and output is log. */
  speaks: boolean;
  log: (chunk: Buffer) => void;
  /** Called with the sandbox's first process before anything runs in it. */
  beforeStart: (pid: number) => Promise<void>;
  signal: AbortSignal;
}

const SETUP_TIMEOUT_MS = 10_000;
const CLEARED_TIMEOUT_MS = 10_000;

/** A running bubblewrap and the processes in it. Disposing of it kills all of them and waits until they are gone. */
export class Sandbox implements AsyncDisposable {
  readonly bwrap: ChildProcess;
  /** Settles when the server has ended and nothing is left of the sandbox; never rejects. */
  readonly ended: Promise<Exit>;
  readonly #status: StatusReader;
  #init: number | undefined;
  #server: number | undefined;

  private constructor(options: SandboxOptions) {
    this.bwrap = spawnBubblewrap(options);
    this.#status = new StatusReader(this.#stream(descriptors.status) as Readable);
    this.ended = this.#watch(options);
  }

  /** Starts the command of the plan inside; throws if the sandbox could not be set up. */
  static async start(options: SandboxOptions): Promise<Sandbox> {
    if (options.signal.aborted) throw cancelled('the start was cancelled');
    const sandbox = new Sandbox(options);
    const complaints = new Complaints(sandbox.bwrap.stderr);
    const abort = () => sandbox.kill();
    options.signal.addEventListener('abort', abort);
    try {
      await sandbox.#setUp(options);
    } catch (error) {
      await sandbox[Symbol.asyncDispose]();
      if (options.signal.aborted) throw cancelled('the start was cancelled', { cause: error });
      if (error instanceof SetupFailed) throw unavailable(complaints.describe(), { cause: error });
      throw error;
    } finally {
      complaints.ignore();
      options.signal.removeEventListener('abort', abort);
    }
    return sandbox;
  }

  get pid(): number {
    return this.#server ?? this.#init ?? this.bwrap.pid ?? 0;
  }

  /** The sandbox's own first process: all others inside are its descendants. */
  get init(): number {
    return this.#init ?? 0;
  }

  /** Signals the server itself; bubblewrap would not pass it on. */
  signalServer(signal: NodeJS.Signals): void {
    if (this.#server === undefined || !childrenOf(this.init).includes(this.#server)) return;
    try {
      process.kill(this.#server, signal);
    } catch {
      // it has ended in this very moment, which is what was wanted
    }
  }

  /** Kills bubblewrap, and with it, through the kernel, everything inside. */
  kill(): void {
    this.bwrap.kill('SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.ended;
  }

  async #setUp({ plan, beforeStart }: SandboxOptions): Promise<void> {
    this.#feed(descriptors.options, Buffer.from(plan.options.map((option) => `${option}\0`).join('')));
    plan.contents.forEach((content, index) => this.#feed(descriptors.firstContent + index, content));
    const init = await Promise.race([this.#status.childPid, this.ended]);
    if (typeof init !== 'number') throw new SetupFailed();
    this.#init = init;
    await beforeStart(init);
    this.#feed(descriptors.release, Buffer.from('\n'));
    const started = () => this.#hasEnded() || childrenOf(init).length > 0;
    if (!(await waitUntil(started, { timeoutMs: SETUP_TIMEOUT_MS }))) throw new SetupFailed();
    this.#server = childrenOf(init)[0];
    // bubblewrap tells an exit code only when there was a command that could exit.
    if (this.#server === undefined && (await this.ended) && this.#status.exitCode === undefined) {
      throw new SetupFailed();
    }
  }

  async #watch({ speaks, log }: SandboxOptions): Promise<Exit> {
    const { stdin, stdout, stderr } = this.bwrap;
    const logs = [stderr, ...(speaks ? [] : [stdout])].filter((stream) => stream !== null);
    for (const stream of logs) stream.on('data', log);
    stdin?.on('error', () => {}); // the server has closed its input: that it ended is told by its exit
    const [code, signal] = await exitOf(this.bwrap);
    const init = this.#init;
    if (init !== undefined) await waitUntil(() => !isAlive(init), { timeoutMs: CLEARED_TIMEOUT_MS });
    await Promise.allSettled([this.#status.ended, ...logs.map((stream) => finished(stream))]);
    return signal === null ? exitFrom(code) : { code: null, signal };
  }

  #hasEnded(): boolean {
    return this.bwrap.exitCode !== null || this.bwrap.signalCode !== null;
  }

  #feed(descriptor: number, content: Buffer): void {
    const stream = this.#stream(descriptor) as Writable;
    stream.on('error', () => {}); // bubblewrap has ended before it read it, and says why itself
    stream.end(content, () => stream.destroy());
  }

  #stream(descriptor: number): Readable | Writable | null | undefined {
    return this.bwrap.stdio[descriptor];
  }
}

class SetupFailed extends Error {}

function spawnBubblewrap({ bwrap, plan, speaks }: SandboxOptions): ChildProcess {
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

/** Never rejects: a bubblewrap that could not even be started has ended, too. */
async function exitOf(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  try {
    return (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  } catch {
    return [null, null];
  }
}

/** bubblewrap reports a server that died of a signal the way shells do, as 128 and the signal's number. */
function exitFrom(code: number | null): Exit {
  const signal = Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
  return signal === undefined ? { code, signal: null } : { code: null, signal };
}

const STATUS_LIMIT = 16_384;

/** Reads what bubblewrap tells about itself: one JSON object a line. */
class StatusReader {
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
class Complaints {
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
