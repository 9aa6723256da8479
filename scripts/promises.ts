import { glob, readFile } from 'node:fs/promises';
import { promises } from '@toolhive/testing/promises';
import type { Promised } from '@toolhive/testing/promises';

const proving = /\bproves\(([^)]*)\)/g;

/** Test files, and the suite that every runtime passes. */
const proofs = ['{packages,apps,e2e}/**/*.test.ts', 'packages/runtime/src/testing/conformance.ts'];

/** Promises without a proving test, and proved promises that still name a reason to wait, one sentence each. */
export async function findPromiseGaps(): Promise<string[]> {
  const proved = new Set<string>();
  const root = new URL('..', import.meta.url).pathname;
  for await (const path of glob(
    proofs.map((pattern) => `${root}${pattern}`),
    {
      exclude: (name) => name === 'node_modules',
    },
  )) {
    for (const [, ids = ''] of (await readFile(path, 'utf8')).matchAll(proving)) {
      for (const [, id = ''] of ids.matchAll(/'([^']+)'/g)) proved.add(id);
    }
  }
  return Object.entries<Promised>(promises).flatMap(([id, { text, awaits }]) => {
    if (proved.has(id) && awaits !== undefined)
      return [`${id} is proved: take "awaits" out of packages/testing/src/promises.ts`];
    if (!proved.has(id) && awaits === undefined) return [`no test proves ${id}: ${text}`];
    return [];
  });
}
