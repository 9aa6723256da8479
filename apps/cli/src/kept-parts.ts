import { promises, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

const chunks = 'chunks';
/** As small as DEFLATE makes the files, in a third of the time. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

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
    const content = kept === undefined ? readFileSync(join(this.#folder, file)) : zstdDecompressSync(kept);
    this.#kept.delete(file); // a part is compiled once
    this.#read.add(file);
    return content.toString('latin1'); // the build writes ASCII
  }

  /** Keeps the files that were not read yet, except those that an upgrade has removed already. */
  async keep(): Promise<void> {
    for (const name of await promises.readdir(join(this.#folder, chunks))) {
      const file = `${chunks}/${name}`;
      if (this.#read.has(file)) continue;
      const content = await promises.readFile(join(this.#folder, file));
      // Another thread would take longer to start than such a small file takes. A copy: the original is the beginning of a
      // larger buffer.
      if (!this.#read.has(file)) this.#kept.set(file, Buffer.from(zstdCompressSync(content, fast)));
    }
  }
}
