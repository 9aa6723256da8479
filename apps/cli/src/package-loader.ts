import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { cacheFolder, loadParts, openedCache, scriptText } from './parts.ts';

// The main script of the npm package, beside the parts of the program. Loads the parts as Node.js loads CommonJS files, but with
// V8's code caches if the build has made them for this version of V8.
const folder = import.meta.dirname;
let ownRequire: NodeJS.Require | undefined;

export const { main } = loadParts({
  scriptOf(file) {
    const content = readFileSync(join(folder, file), 'latin1'); // the build writes ASCII
    return new Script(scriptText(file, content), {
      filename: join(folder, file),
      cachedData: cacheOf(file),
    });
  },
  hasPack: true,
  pathOf: (part) => join(folder, part),
  require: (id) => process.getBuiltinModule(id) ?? (ownRequire ??= createRequire(import.meta.filename))(id),
});

function cacheOf(file: string): Buffer | undefined {
  try {
    return openedCache(readFileSync(join(folder, cacheFolder, file)));
  } catch {
    return undefined; // made by another version of Node.js
  }
}
