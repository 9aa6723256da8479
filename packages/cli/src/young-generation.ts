import { setFlagsFromString } from 'node:v8';

/** V8's growth factor for its young generation when much of it survives a collection. */
const defaultGrowthFactor = 2;

/**
 * Keeps the young generation of the heap at its initial size until the result is disposed. While a daemon loads its
 * modules, nearly everything survives, and V8 would reserve 16 MB that an idle daemon does not use and never returns.
 */
export function limitYoungGeneration(): Disposable {
  setFlagsFromString('--semi-space-growth-factor=1');
  return {
    [Symbol.dispose]: () => setFlagsFromString(`--semi-space-growth-factor=${defaultGrowthFactor}`),
  };
}
