import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { KeptParts } from './kept-parts.ts';
import { cacheFolder, loadParts, openedCache, scriptText } from './parts.ts';

// The main script of the npm package, beside the parts of the program. Loads the parts as Node.js loads CommonJS files, but with
// V8's code caches if the build has made them for this version of V8.
const folder = import.meta.dirname;
const parts = new KeptParts(folder);
let ownRequire: NodeJS.Require | undefined;

/** Late enough that the many daemons that run for a few commands only do not read all parts. */
const keepAfterMs = 30_000;

const program = loadParts({
  scriptOf(file) {
    return new Script(scriptText(file, parts.read(file)), {
      filename: join(folder, file),
      cachedData: cacheOf(file),
    });
  },
  hasPack: true,
  pathOf: (part) => join(folder, part),
  require: (id) => process.getBuiltinModule(id) ?? (ownRequire ??= createRequire(import.meta.filename))(id),
});

export function main(words: readonly string[]): Promise<void> {
  // Without some of the files, the daemon continues like before.
  const keep = (): void => {
    parts.keep().catch(() => {});
  };
  if (words[0] === 'serve') setTimeout(keep, keepAfterMs).unref();
  return program.main(words);
}

function cacheOf(file: string): Buffer | undefined {
  try {
    return openedCache(readFileSync(join(folder, cacheFolder, file)));
  } catch {
    return undefined; // made by another version of Node.js
  }
}
