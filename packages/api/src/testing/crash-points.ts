import { existsSync } from 'node:fs';
import fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** A home whose changes are counted. */
interface CountedHome {
  taken: number;
  /** The step at which it freezes. */
  last: number;
  onStep: (taken: number, isFrozen: boolean) => void;
}

type Work = () => Promise<unknown>;

/** What changes a folder, and the argument that says where. */
const changes = { rename: 1, rm: 0, unlink: 0, rmdir: 0, link: 1, symlink: 1, copyFile: 1, mkdir: 0 } as const;

/**
 * Counts, for each home, the steps by which the file system changes, and freezes a home at one of them: that step
 * and all later ones never happen. When the process is killed then, the home is as if it had been killed at that
 * very step. One process can do this for many homes at once.
 */
export class CrashPoints {
  readonly #homes = new Map<string, CountedHome>();

  /** From now on everything in this process that changes a file through `node:fs/promises` is counted. */
  constructor() {
    for (const [name, argument] of Object.entries(changes)) {
      this.#wrap(name, (call, ...args) => {
        const path = String(args[argument]);
        return changesNothing(name, path) ? call() : this.#step(path, call);
      });
    }
    this.#wrap('writeFile', (_call, path, content, options) => this.#write(String(path), content, options));
    this.#wrap('open', async (call, path, flags) => {
      if (flags === undefined || flags === 'r') return call();
      const file = (await this.#step(String(path), call)) as FileHandle;
      const write = file.writeFile.bind(file);
      file.writeFile = async (content) => {
        await this.#inTwoSteps(String(path), content as string, (part) => write(part));
      };
      return file;
    });
    syncBuiltinESMExports();
  }

  /** Begins to count anew. */
  arm(home: string, last: number, onStep: CountedHome['onStep']): void {
    this.#homes.set(home, { taken: 0, last, onStep });
  }

  async #write(path: string, content: unknown, options: unknown): Promise<void> {
    const file = await fs.open(path, (options as { flag?: string }).flag ?? 'w');
    try {
      await file.writeFile(content as string);
    } finally {
      await file.close();
    }
  }

  /** A kill can come in the middle of a file. */
  async #inTwoSteps(path: string, content: string | Uint8Array, write: (part: Buffer) => Promise<void>) {
    const bytes = Buffer.from(content as string); // or from bytes, which is the same call
    const middle = bytes.length >> 1;
    await this.#step(path, () => write(bytes.subarray(0, middle)));
    await this.#step(path, () => write(bytes.subarray(middle)));
  }

  async #step(path: string, work: Work): Promise<unknown> {
    const home = this.#homes.entries().find(([directory]) => path.startsWith(`${directory}/`))?.[1];
    if (home === undefined) return work();
    home.taken += 1;
    const isFrozen = home.taken >= home.last;
    home.onStep(home.taken, isFrozen);
    return isFrozen ? new Promise(() => {}) : work();
  }

  #wrap(name: string, around: (call: Work, ...args: unknown[]) => Promise<unknown>): void {
    const functions = fs as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const original = functions[name]; // each name is one of the module's own
    if (original === undefined) throw new Error(`node:fs/promises has no ${name}`);
    functions[name] = (...args) => around(() => original(...args), ...args);
  }
}

/** Such calls are made to be sure; a kill before one is a kill after it. */
function changesNothing(name: string, path: string): boolean {
  if (name === 'mkdir') return existsSync(path);
  return name.startsWith('r') && name !== 'rename' && !existsSync(path);
}
