import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { cancelled, unavailable } from '@toolhive/contract/failure';
import type { Exit } from '../runtime.ts';
import { type BubblewrapCall, Complaints, StatusReader, exitFrom, spawnBubblewrap } from './bubblewrap.ts';
import { descriptors, firstContent } from './plan.ts';
import { childrenOf, isAlive, waitUntil } from '../proc.ts';
import { exitOf } from '../spawn.ts';

export interface SandboxOptions extends BubblewrapCall {
  log: (chunk: Buffer) => void;
  /** Receives the standard output, from the first byte on: a short command ends before its start is known. */
  output?: (chunk: Buffer) => void;
  /**
   * Called with the sandbox's first process while it is in the user namespace that owns all others. Bubblewrap later
   * enters another user namespace, from which nothing can be configured.
   */
  inNamespaces?: (pid: number) => Promise<void>;
  /** Called with the sandbox's first process before anything runs in it. */
  beforeStart: (pid: number) => Promise<void>;
  signal: AbortSignal;
}

const SETUP_TIMEOUT_MS = 10_000;
const CLEARED_TIMEOUT_MS = 10_000;

/** A running bubblewrap and its processes. Disposal kills all of them and waits for their end. */
export class Sandbox implements AsyncDisposable {
  readonly bwrap: ChildProcess;
  /** Settles when the server has ended and the sandbox is gone. Never rejects. */
  readonly ended: Promise<Exit>;
  readonly #status: StatusReader;
  #init: number | undefined;
  #server: number | undefined;

  private constructor(options: SandboxOptions) {
    this.bwrap = spawnBubblewrap(options);
    this.ended = this.#watch(options); // first, so that it also handles failures before anything runs
    this.#status = new StatusReader(this.#stream(descriptors.status));
  }

  /** Starts the plan's command inside. Throws if the sandbox could not be set up. */
  static async start(options: SandboxOptions): Promise<Sandbox> {
    if (options.signal.aborted) throw cancelled('the start was cancelled');
    const sandbox = new Sandbox(options);
    const complaints = new Complaints(sandbox.bwrap.stderr);
    const abort = () => sandbox.kill();
    options.signal.addEventListener('abort', abort);
    try {
      await sandbox.#setUp(options);
      if (options.signal.aborted) throw new SetupFailed();
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

  /** Signals the server directly, because bubblewrap does not forward signals. */
  signalServer(signal: NodeJS.Signals): void {
    if (this.#server === undefined || !childrenOf(this.init).includes(this.#server)) return;
    try {
      process.kill(this.#server, signal);
    } catch {
      // the server has just ended, which is the goal
    }
  }

  /** Kills bubblewrap, which makes the kernel kill everything inside. */
  kill(): void {
    // Until bubblewrap reports its first process, only the kernel knows the process, and it may not be tied to
    // bubblewrap yet.
    const children = this.#hasEnded() ? [] : childrenOf(this.bwrap.pid ?? 0);
    this.#init ??= children[0];
    this.bwrap.kill('SIGKILL');
    for (const child of children) killIfAlive(child);
    if (!this.#hasEnded()) this.#killGroup();
  }

  /**
   * Kills what bubblewrap has started in its process group. The first process is tied to bubblewrap only some time
   * after its start, and would wait forever if bubblewrap is killed in between.
   */
  #killGroup(): void {
    const { pid } = this.bwrap;
    if (pid !== undefined) killIfAlive(-pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.ended;
  }

  async #setUp({ plan, inNamespaces, beforeStart }: SandboxOptions): Promise<void> {
    this.#feed(descriptors.options, Buffer.from(plan.options.map((option) => `${option}\0`).join('')));
    const [held, ...contents] = plan.contents;
    contents.forEach((content, index) => this.#feed(firstContent(plan) + 1 + index, content));
    const init = await Promise.race([this.#status.childPid, this.ended]);
    if (typeof init !== 'number') throw new SetupFailed();
    this.#init = init;
    if (inNamespaces !== undefined) await this.#unlessItEnds(inNamespaces(init));
    if (held !== undefined) this.#feed(firstContent(plan), held);
    await this.#unlessItEnds(beforeStart(init));
    this.#feed(descriptors.release, Buffer.from('\n'));
    const started = () => this.#hasEnded() || childrenOf(init).length > 0;
    if (!(await waitUntil(started, { timeoutMs: SETUP_TIMEOUT_MS }))) throw new SetupFailed();
    this.#server = childrenOf(init)[0];
    // bubblewrap tells an exit code only when there was a command that could exit.
    if (this.#server === undefined && (await this.ended) && this.#status.exitCode === undefined) {
      throw new SetupFailed();
    }
  }

  async #watch({ speaks, log, output }: SandboxOptions): Promise<Exit> {
    const { stdin, stdout, stderr } = this.bwrap;
    const reader = output ?? (speaks ? undefined : log);
    const read = [
      { stream: stderr, reader: log },
      { stream: stdout, reader },
    ];
    const logs = read.flatMap(({ stream, reader: to }) =>
      to === undefined ? [] : (stream?.on('data', to) ?? []),
    );
    if (reader === undefined && stdout !== null) this.bwrap.once('exit', () => keepUnread(stdout));
    stdin?.on('error', () => {}); // the server has closed its input, and its exit reports the end
    const { code, signal } = await exitOf(this.bwrap);
    if (signal !== null) this.#killGroup();
    const init = this.#init;
    if (init !== undefined) await waitUntil(() => !isAlive(init), { timeoutMs: CLEARED_TIMEOUT_MS });
    await Promise.allSettled([this.#status.ended, ...logs.map((stream) => finished(stream))]);
    return signal === null ? exitFrom(code) : { code: null, signal };
  }

  async #unlessItEnds(step: Promise<void>): Promise<void> {
    const ended = this.ended.then(() => {
      throw new SetupFailed();
    });
    try {
      await Promise.race([step, ended]);
    } catch (error) {
      if (isAlive(this.init)) throw error;
      throw new SetupFailed('', { cause: error }); // the failure was caused by the missing process
    }
  }

  #hasEnded(): boolean {
    return this.bwrap.exitCode !== null || this.bwrap.signalCode !== null;
  }

  #feed(descriptor: number, content: Buffer): void {
    const stream = this.#stream(descriptor);
    stream.on('error', () => {}); // bubblewrap ended before reading, and reports the reason
    stream.end(content, () => stream.destroy());
  }

  #stream(descriptor: number): Socket {
    const stream = this.bwrap.stdio[descriptor];
    if (stream instanceof Socket) return stream;
    throw unavailable('bubblewrap could not be started');
  }
}

/**
 * Keeps the output of a program that has ended for a reader that is still to come. Node.js discards unread output when
 * a program ends, except where something waits for the stream to become readable.
 */
function keepUnread(stream: Readable): void {
  if (stream.listenerCount('data') > 0 || stream.listenerCount('readable') > 0) return;
  const wait = (): void => {};
  const makeWay = (event: string): void => {
    if (event !== 'data' && event !== 'readable') return;
    stream.off('newListener', makeWay);
    stream.off('readable', wait);
  };
  stream.on('readable', wait);
  stream.on('newListener', makeWay);
}

/** A negative number names a process group. */
function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended, which is the goal
  }
}

class SetupFailed extends Error {}
