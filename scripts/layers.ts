import { glob, readFile } from 'node:fs/promises';
import { relative } from 'node:path';

/** What each package may import of the others. Dependencies point one way. */
const layers: Record<string, readonly string[]> = {
  'packages/contract': [],
  'packages/runtime': ['@toolhive/contract'],
  'packages/proxy': ['@toolhive/contract', '@toolhive/runtime'],
  'packages/core': ['@toolhive/contract', '@toolhive/runtime', '@toolhive/proxy'],
  'packages/control': ['@toolhive/contract', '@toolhive/proxy'],
  'packages/operator': ['@toolhive/contract', '@toolhive/core'],
  'packages/api': ['@toolhive/contract', '@toolhive/proxy', '@toolhive/core'],
  'apps/cli': ['@toolhive/contract'],
};

/** Files that may import more than their package, and why. */
const exceptions: Record<string, { allowed: readonly string[]; why: string }> = {
  'apps/cli/src/commands/system/serve.ts': {
    allowed: ['@toolhive/core', '@toolhive/api', '@toolhive/control'],
    why: 'it is the hive',
  },
  'apps/cli/src/commands/access.ts': {
    allowed: ['@toolhive/core/access'],
    why: 'it says who may use what listens, for the commands that are servers',
  },
  'apps/cli/src/commands/mcp/list.ts': {
    allowed: ['@toolhive/proxy/client'],
    why: 'it is an MCP client of any server, for which no hive is needed',
  },
  'apps/cli/src/commands/mcp/serve.ts': {
    allowed: ['@toolhive/control'],
    why: 'it is a server itself',
  },
  'apps/cli/src/commands/proxy/serve.ts': {
    allowed: ['@toolhive/core/access', '@toolhive/core/remote', '@toolhive/proxy'],
    why: 'it is a proxy itself, without a hive',
  },
  'apps/cli/src/commands/proxy/stdio.ts': {
    allowed: ['@toolhive/proxy/stdio-adapter'],
    why: 'it carries the messages of a client itself',
  },
  'apps/cli/src/executable.ts': {
    allowed: ['@toolhive/core/keyring-helper'],
    why: 'it is also the helper, as the single executable has nothing else to start',
  },
  'apps/cli/src/hive.ts': {
    allowed: ['@toolhive/core/paths', '@toolhive/core/private-directory'],
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
