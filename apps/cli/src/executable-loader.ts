import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';
import { cacheAsset, entryPart, loadParts, partAsset } from './executable-parts.ts';

// The main script of the single executable. Each part of the program is an asset and is compiled at its first use, like
// a file in the npm package, but with V8's code cache. V8 checks itself whether a cache belongs to a part.
loadParts((name) => {
  const source = Buffer.from(getRawAsset(partAsset(name))).toString('latin1'); // the build writes ASCII
  return new Script(source, { filename: name, cachedData: Buffer.from(getRawAsset(cacheAsset(name))) });
}, entryPart);
