import { promises, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, deflateRaw, inflateRawSync } from 'node:zlib';

const compress = promisify(deflateRaw);

const chunks = 'chunks';

/**
 * The files of the parts of a program. A daemon keeps those that it has not loaded yet in memory, compressed: an upgrade of the
 * npm package removes them, and requests would end the daemon when they need one.
 */
export class KeptParts {
  readonly #folder: string;
  readonly #kept = new Map<string, Buffer>();
  readonly #read = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads a file. */
  read(file: string): string {
    const kept = this.#kept.get(file);
    const content = kept === undefined ? readFileSync(join(this.#folder, file)) : inflateRawSync(kept);
    this.#kept.delete(file); // a part is compiled once
    this.#read.add(file);
    return content.toString('latin1'); // the build writes ASCII
  }

  /** Keeps the files that were not read yet, except those that an upgrade has removed already. */
  async keep(): Promise<void> {
    for (const name of await promises.readdir(join(this.#folder, chunks))) {
      const file = `${chunks}/${name}`;
      if (this.#read.has(file)) continue;
      const content = await compress(await promises.readFile(join(this.#folder, file)), {
        level: constants.Z_BEST_SPEED,
      });
      // A copy: the original is the beginning of a larger buffer.
      if (!this.#read.has(file)) this.#kept.set(file, Buffer.from(content));
    }
  }
}
