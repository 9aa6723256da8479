import { glob, readFile } from 'node:fs/promises';
import { relative } from 'node:path';

/** What each package may import of the others. Dependencies point one way. */
const layers: Record<string, readonly string[]> = {
  'packages/contract': [],
  'packages/runtime': ['@toolhive/contract'],
  'packages/proxy': ['@toolhive/contract', '@toolhive/runtime'],
  'packages/core': ['@toolhive/contract', '@toolhive/runtime', '@toolhive/proxy'],
  'packages/api': ['@toolhive/contract', '@toolhive/proxy', '@toolhive/core'],
  'apps/cli': ['@toolhive/contract'],
};

/** Files that may import more than their package, and why. */
const exceptions: Record<string, { allowed: readonly string[]; why: string }> = {
  'apps/cli/src/commands/serve.ts': {
    allowed: ['@toolhive/core', '@toolhive/api'],
    why: 'it is the hive',
  },
  'apps/cli/src/hive.ts': {
    allowed: ['@toolhive/core/paths'],
    why: 'it finds the socket of the hive, which is only a path worked out from the environment',
  },
};

const importFrom = /(?:\bfrom|\bimport)\s*\(?\s*'(@toolhive\/[^']+|node:[^']+)'/g;

/** Every import that goes against the layers, a sentence each. */
export async function findLayerBreaches(): Promise<string[]> {
  const root = new URL('..', import.meta.url).pathname;
  const breaches: string[] = [];
  for (const [layer, allowed] of Object.entries(layers)) {
    for await (const path of glob(`${root}${layer}/src/**/*.ts`)) {
      const file = relative(root, path);
      if (file.endsWith('.test.ts') || file.includes('/testing/')) continue;
      const mayImport = [...allowed, ...(exceptions[file]?.allowed ?? [])];
      for (const [, name = ''] of (await readFile(path, 'utf8')).matchAll(importFrom)) {
        const isAllowed = name.startsWith('node:')
          ? layer !== 'packages/contract'
          : mayImport.some((own) => name === own || name.startsWith(`${own}/`));
        if (!isAllowed) breaches.push(`${file} imports ${name}, which ${layer} may not`);
      }
    }
  }
  return breaches;
}
