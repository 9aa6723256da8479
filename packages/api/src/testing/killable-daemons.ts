import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { statePaths } from '@toolhive/state/paths';
import { apiClient } from './api-client.ts';
import type { FromDaemon, Daemon, ToDaemon } from './crash-daemon.ts';

/** A daemon in a process that can be killed. */
export interface KillableDaemon extends Daemon {
  /** Settles when it is open; rejects when it is killed before. */
  opened: Promise<void>;
  /** From now on each step of its home waits until `look` has looked at it. */
  beforeEachStep(look: () => Promise<void>): void;
}

/** Real daemons, each for a home of its own, in one process: killing it kills them all. */
export class KillableDaemons implements AsyncDisposable {
  readonly daemons: readonly KillableDaemon[];
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  #steps = 0;
  #onStep = (): void => {};

  /** Begins to start them; compiled code is kept in `cache`, for the next ones. */
  constructor(homes: readonly string[], cache: string) {
    const child = fork(fileURLToPath(new URL('./crash-daemon.ts', import.meta.url)), homes, {
      execArgv: [],
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.#ended = endOf(child);
    const daemons = new Map(homes.map((home) => [home, daemonIn(child, home, this.#ended)]));
    child.on('message', (message: FromDaemon) => {
      daemons.get(message.home)?.hear(message);
      if (message.is !== 'step') return;
      this.#steps += 1;
      this.#onStep();
    });
    this.daemons = [...daemons.values()];
  }

  /** Settles when all of them together have taken so many steps since the process was started. */
  taken(steps: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onStep = () => {
      if (this.#steps >= steps) resolve();
    };
    this.#onStep();
    return promise;
  }

  /** Ends all of them at once, without a word. Throws when the process has ended by itself before. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    const why = await this.#ended;
    if (this.#child.signalCode !== 'SIGKILL') throw new Error(`the daemons have ended: ${why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Settles with what a process wrote in the end. */
function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.once('error', reject);
  child.once('close', () => resolve(text));
  return promise;
}

function daemonIn(
  child: ChildProcess,
  home: string,
  ended: Promise<string>,
): KillableDaemon & { hear(message: FromDaemon): void } {
  const open = Promise.withResolvers<void>();
  let look: (() => Promise<void>) | undefined;
  const complaints: string[] = [];
  const tell = (message: ToDaemon): void => {
    if (child.connected) child.send(message, () => {}); // a killed daemon hears nothing
  };
  void ended.then((why) => open.reject(new Error(`the daemons have not opened: ${why}`)));
  open.promise.catch(() => {}); // a daemon that is killed while it starts is nobody's concern
  return {
    home,
    client: apiClient({ socketPath: statePaths({ HOME: home }).socket }),
    opened: open.promise,
    complaints,
    beforeEachStep(chosen) {
      look = chosen;
      tell({ home, is: 'wait' });
    },
    hear(message) {
      if (message.is === 'open') open.resolve();
      else if (message.is === 'complaint') complaints.push(message.text);
      else if (message.isWaiting) void look?.().then(() => tell({ home, is: 'go on' }));
    },
  };
}
