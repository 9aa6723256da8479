import { dirname, posix } from 'node:path';
import type { Script } from 'node:vm';

/** The part that the program begins with. It exports `main`. */
export const entryPart = 'main.js';

/** The parts of short commands in one file, which takes less time to read and compile than one file for each of them. */
export const packFile = 'short-commands.js';

/** The folder with V8's code caches, beside the parts. A cache belongs to one version of V8, and to one kind of machine. */
export const cacheFolder = `code-cache/${process.versions.v8}-${process.platform}-${process.arch}`;

/** The asset of the executable with a file of the program. */
export const assetOf = (file: string): string => `program/${file}`;

/** The asset of the executable with V8's code cache for a file of the program. */
export const cacheAsset = (file: string): string => `cache/${file}`;

/** The files of the program that are compiled: a pattern for `glob`. */
export const compiledFiles = `{${entryPart},${packFile},chunks/*.js}`;

/** The script of a file: an expression with the value of the pack, or with the function of a part. */
export const scriptText = (file: string, content: string): string =>
  file === packFile ? content : wrapped(content);

/** A function with the variables that Node.js gives to each CommonJS file. */
const wrapped = (code: string): string =>
  `(function(exports,require,module,__filename,__dirname){${code}\n})`;

/** The content of the pack: an object with the functions of parts, by their names. */
export const packOf = (parts: ReadonlyMap<string, string>): string =>
  `({${Array.from(parts, ([name, code]) => `${JSON.stringify(name)}:${wrapped(code)}`).join(',\n')}})`;

/** A code cache as it is stored: with a checksum at its end. */
export function sealedCache(cache: Buffer): Buffer {
  const seal = Buffer.alloc(sealBytes);
  seal.writeInt32LE(checksumOf(cache));
  return Buffer.concat([cache, seal]);
}

/**
 * A stored code cache without its checksum. Undefined if a part of it is missing: V8 does not check the content of a cache,
 * and would crash.
 */
export function openedCache(stored: Buffer): Buffer | undefined {
  if (stored.length < sealBytes) return undefined;
  const cache = stored.subarray(0, -sealBytes);
  return checksumOf(cache) === stored.readInt32LE(cache.length) ? cache : undefined;
}

const sealBytes = 4;
/** A file system writes in larger blocks. After a crash of the machine, some of them can be empty. */
const checkedEveryBytes = 1024;

/** A checksum over one word in each kilobyte. One over all words would take as long as the cache saves. */
function checksumOf(cache: Buffer): number {
  let sum = cache.length;
  for (let at = 0; at + 4 <= cache.length; at += checkedEveryBytes)
    sum = Math.trunc(Math.imul(sum, 31) ^ cache.readInt32LE(at));
  return sum;
}

type Part = (
  exports: unknown,
  require: (id: string) => unknown,
  module: { exports: unknown },
  filename: string,
  dirname: string,
) => void;

interface Program {
  /** Compiles the pack, or a part that is not in the pack. */
  scriptOf: (file: string) => Script;
  hasPack: boolean;
  /** The path that a part sees as its own. */
  pathOf: (part: string) => string;
  /** Loads another module. Packages try to load modules that are not installed, and expect an exception. */
  require: (id: string) => unknown;
}

interface Entry {
  main: (words: readonly string[]) => Promise<void>;
}

/** Runs the first part, and each other part when it is required first. Returns the exports of the first part. */
export function loadParts({ scriptOf, hasPack, pathOf, require: outside }: Program): Entry {
  const packed = hasPack ? (scriptOf(packFile).runInThisContext() as Record<string, Part>) : {}; // written by `packOf`
  const loaded = new Map<string, { exports: unknown }>();
  /** A file that is missing is missed again at the next attempt, and not taken for an empty part. */
  const compiled = (name: string): Part => {
    try {
      return scriptOf(name).runInThisContext() as Part; // made by `scriptText`
    } catch (error) {
      loaded.delete(name);
      throw error;
    }
  };
  const load = (name: string): unknown => {
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const module: { exports: unknown } = { exports: {} };
    loaded.set(name, module); // before it runs, so that parts can require each other
    const require = (id: string): unknown =>
      id.startsWith('.') ? load(posix.join(posix.dirname(name), id)) : outside(id);
    const part = packed[name] ?? compiled(name);
    const path = pathOf(name);
    part(module.exports, require, module, path, dirname(path));
    return module.exports;
  };
  return load(entryPart) as Entry; // the build makes it from `main.ts` or `executable.ts`
}
