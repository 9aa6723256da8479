import { dirname, posix } from 'node:path';
import type { Script } from 'node:vm';

/** The part that the executable begins with. */
export const entryPart = 'thv.js';

/** The asset with the text of a part. */
export const partAsset = (name: string): string => `program/${name}`;

/** The asset with V8's code cache for a part. */
export const cacheAsset = (name: string): string => `cache/${name}`;

/** A part as an expression: a function with the variables that Node.js gives to each CommonJS file. */
export const wrapPart = (code: string): string =>
  `(function(exports,require,module,__filename,__dirname){${code}\n})`;

type Part = (
  exports: unknown,
  require: (id: string) => unknown,
  module: { exports: unknown },
  filename: string,
  dirname: string,
) => void;

/** Runs a part, and each other part when it is required first. `scriptOf` compiles the part of a name. */
export function loadParts(scriptOf: (name: string) => Script, entry: string): void {
  const loaded = new Map<string, { exports: unknown }>();
  const load = (name: string): unknown => {
    const known = loaded.get(name);
    if (known !== undefined) return known.exports;
    const module: { exports: unknown } = { exports: {} };
    loaded.set(name, module); // before it runs, so that parts can require each other
    const require = (id: string): unknown =>
      id.startsWith('.') ? load(posix.join(posix.dirname(name), id)) : builtin(id);
    const part = scriptOf(name).runInThisContext() as Part; // wrapped by `wrapPart`
    part(module.exports, require, module, process.execPath, dirname(process.execPath));
    return module.exports;
  };
  load(entry);
}

/** Packages try to load modules that are not installed, and expect an exception. */
function builtin(id: string): unknown {
  const module = process.getBuiltinModule(id);
  if (module === undefined) throw Object.assign(new Error(`no module ${id}`), { code: 'MODULE_NOT_FOUND' });
  return module;
}
