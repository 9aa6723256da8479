import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { SerialQueue } from '@toolhive/contract/serial-queue';

/** What changes a folder, and the argument that says where. */
const changes = {
  rename: 1,
  rm: 0,
  unlink: 0,
  rmdir: 0,
  link: 1,
  symlink: 1,
  copyFile: 1,
  mkdir: 0,
} as const;

type Work = () => Promise<unknown>;

interface SteppedHome {
  /** No two of its steps overlap. */
  steps: SerialQueue;
  isWaiting: boolean;
  goOn: () => void;
}

/**
 * The steps by which the file systems of some homes change, each of them told before it is taken. A home can be made
 * to wait then: as it is at that moment, a kill at that moment would leave it.
 */
export class CrashPoints {
  readonly #homes: ReadonlyMap<string, SteppedHome>;
  readonly #onStep: (home: string, isWaiting: boolean) => void;

  /** From now on everything in this process that changes a file through `node:fs/promises` goes by here. */
  constructor(homes: readonly string[], onStep: (home: string, isWaiting: boolean) => void) {
    this.#homes = new Map(
      homes.map((home) => [home, { steps: new SerialQueue(), isWaiting: false, goOn: () => {} }]),
    );
    this.#onStep = onStep;
    for (const [name, argument] of Object.entries(changes)) {
      wrap(name, (call, ...args) => {
        const path = String(args[argument]);
        return changesNothing(name, path) ? call() : this.#step(path, call);
      });
    }
    wrap('writeFile', (_call, path, content, options) => writeFile(String(path), content, options));
    wrap('open', async (call, path, flags) => {
      if (flags === undefined || flags === 'r') return call();
      const file = (await this.#step(String(path), call)) as FileHandle;
      const write = file.writeFile.bind(file);
      file.writeFile = (content) => this.#inTwoSteps(String(path), content as string, write);
      return file;
    });
    syncBuiltinESMExports();
  }

  /** From now on a step is taken when somebody says so. */
  wait(home: string): void {
    const stepped = this.#homes.get(home);
    if (stepped !== undefined) stepped.isWaiting = true;
  }

  goOn(home: string): void {
    this.#homes.get(home)?.goOn();
  }

  /** A kill can come in the middle of a file. */
  async #inTwoSteps(path: string, content: string | Uint8Array, write: (part: Buffer) => Promise<void>) {
    const bytes = Buffer.from(content as string); // or from bytes, which is the same call
    const middle = bytes.length >> 1;
    await this.#step(path, () => write(bytes.subarray(0, middle)));
    await this.#step(path, () => write(bytes.subarray(middle)));
  }

  #step(path: string, work: Work): Promise<unknown> {
    const [home, stepped] = this.#homes.entries().find(([one]) => path.startsWith(`${one}/`)) ?? [];
    if (home === undefined || stepped === undefined) return work();
    return stepped.steps.run(async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      stepped.goOn = resolve;
      this.#onStep(home, stepped.isWaiting);
      if (stepped.isWaiting) await promise;
      return work();
    });
  }
}

/** The same as that of the module, but by way of `open`, where it is counted. */
async function writeFile(path: string, content: unknown, options: unknown): Promise<void> {
  const { flag = 'w', mode } = (options ?? {}) as { flag?: string; mode?: number };
  await using file = await fs.open(path, flag, mode);
  await file.writeFile(content as string);
}

function wrap(name: string, around: (call: Work, ...args: unknown[]) => Promise<unknown>): void {
  const functions = fs as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  const original = functions[name]; // each name is one of the module's own
  if (original === undefined) throw new Error(`node:fs/promises has no ${name}`);
  functions[name] = (...args) => around(() => original(...args), ...args);
}

/** Such calls are made to be sure; a kill before one is a kill after it. */
function changesNothing(name: string, path: string): boolean {
  if (name === 'mkdir') return existsSync(path);
  return name.startsWith('r') && name !== 'rename' && !existsSync(path);
}
