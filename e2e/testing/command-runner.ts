import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, thvBundle } from './places.ts';

/** A command line, and its complete environment. */
export interface CommandStart {
  words: readonly string[];
  env: NodeJS.ProcessEnv;
}

export interface CommandEnd {
  code: number;
}

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The beginnings of commands that serve clients, read standard input, or start programs for people. */
const ownProcesses = [
  'exec',
  'inspector',
  'mcp serve',
  'proxy stdio',
  'proxy tunnel',
  'serve',
  'service',
  'ui',
];

/**
 * Whether a command can be run by `runCommand`. Node.js reads some options and variables only when a process starts, and
 * benchmarks measure this start.
 */
export function isRunnable({ words, env }: CommandStart): boolean {
  return (
    process.env['VITEST'] !== undefined &&
    process.platform !== 'win32' &&
    existsSync(thvBundle) &&
    !ownProcesses.some((beginning) => `${words.join(' ')} `.startsWith(`${beginning} `)) &&
    !words.some((word) => word.startsWith('--env-file')) &&
    !Object.keys(env).some((name) => name.startsWith('NODE_'))
  );
}

/** Processes that have nothing to do. */
const idle: Runner[] = [];

/**
 * Runs the built `thv` with these words in a process that has run other commands before, because the start of Node.js takes
 * most of the time of a command. A process runs one command at a time.
 */
export async function runCommand(start: CommandStart): Promise<Outcome> {
  const runner = idle.pop() ?? new Runner();
  const outcome = await runner.run(start);
  if (runner.isRunning) idle.push(runner);
  return outcome;
}

class Runner {
  readonly #child: ChildProcess;
  /** Both streams are files, as with a redirection: what was written is there when the command ends. */
  readonly #stdout: number;
  readonly #stderr: number;
  isRunning = true;

  constructor() {
    const folder = mkdtempSync(join(tmpdir(), 'thv-commands-'));
    [this.#stdout, this.#stderr] = [
      openSync(join(folder, 'stdout'), 'a+'),
      openSync(join(folder, 'stderr'), 'a+'),
    ];
    rmSync(folder, { recursive: true }); // only the descriptors are used
    this.#child = spawn(process.execPath, [join(import.meta.dirname, 'command-runner-program.ts')], {
      cwd: root,
      env: {},
      stdio: ['ignore', this.#stdout, this.#stderr, 'ipc'],
    });
    this.#child.once('exit', () => {
      this.isRunning = false;
      const at = idle.indexOf(this);
      if (at !== -1) idle.splice(at, 1);
    });
    // The processes end with the one of the tests.
    this.#child.unref();
    this.#child.channel?.unref();
  }

  async run(start: CommandStart): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<number>();
    const onExit = (code: number | null): void => resolve(code ?? 1);
    this.#child.once('exit', onExit);
    this.#child.once('message', ({ code }: CommandEnd) => resolve(code));
    this.#child.ref();
    this.#child.channel?.ref();
    this.#child.send({ words: start.words, env: start.env } satisfies CommandStart);
    const code = await promise;
    this.#child.off('exit', onExit);
    this.#child.unref();
    this.#child.channel?.unref();
    const outcome = { code, stdout: taken(this.#stdout), stderr: taken(this.#stderr) };
    if (!this.isRunning) for (const descriptor of [this.#stdout, this.#stderr]) closeSync(descriptor);
    return outcome;
  }
}

/** The text of a file, which is empty then. */
function taken(descriptor: number): string {
  const text = Buffer.alloc(fstatSync(descriptor).size);
  readSync(descriptor, text, 0, text.length, 0);
  ftruncateSync(descriptor);
  return text.toString();
}
