import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { raiseFault } from '@toolhive/contract/fault';
import { assetOf, cacheAsset, loadParts, openedCache, scriptText } from './parts.ts';

// The main script of the single executable. Each part of the program is an asset and is compiled at its first use, like
// a file in the npm package, but always with V8's code cache. V8 checks itself whether a cache belongs to a part.
const { main } = loadParts({
  scriptOf(file) {
    const content = Buffer.from(getRawAsset(assetOf(file))).toString('latin1'); // the build writes ASCII
    return new Script(scriptText(file, content), {
      filename: file,
      cachedData: openedCache(Buffer.from(getRawAsset(cacheAsset(file)))),
    });
  },
  hasPack: true,
  pathOf: () => process.execPath,
  require(id) {
    const module = process.getBuiltinModule(id);
    if (module === undefined) throw Object.assign(new Error(`no module ${id}`), { code: 'MODULE_NOT_FOUND' });
    return module;
  },
});
main(process.argv.slice(2)).catch(raiseFault);
