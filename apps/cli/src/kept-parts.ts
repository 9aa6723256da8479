import { promises, readFileSync } from 'node:fs';
import { join } from 'node:path';

const chunks = 'chunks';

/**
 * The files of the program's parts. A daemon keeps those that it has not loaded yet in memory: an upgrade of the npm package
 * removes them, and requests would end the daemon when they need one.
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
    const content = this.#kept.get(file) ?? readFileSync(join(this.#folder, file));
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
      if (!this.#read.has(file)) this.#kept.set(file, content);
    }
  }
}
