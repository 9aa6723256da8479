import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** The packages that each package may import. Dependencies point in one direction. */
const layers: Record<string, readonly string[]> = {
  'packages/contract': [],
  'packages/kubernetes': ['@toolhive/contract'],
  'packages/runtime': ['@toolhive/contract'],
  'packages/proxy': ['@toolhive/contract', '@toolhive/runtime'],
  'packages/core': ['@toolhive/contract', '@toolhive/runtime', '@toolhive/proxy'],
  'packages/control': ['@toolhive/contract', '@toolhive/proxy'],
  'packages/operator': ['@toolhive/contract', '@toolhive/core', '@toolhive/kubernetes'],
  'packages/api': ['@toolhive/contract', '@toolhive/proxy', '@toolhive/core'],
  'apps/cli': ['@toolhive/contract'],
  'apps/operator': [
    '@toolhive/contract',
    '@toolhive/runtime',
    '@toolhive/core',
    '@toolhive/kubernetes',
    '@toolhive/api',
    '@toolhive/operator',
  ],
  'apps/web': ['@toolhive/contract'],
};

/**
 * The folders of a package, the lowest first. A file imports from its own folder and from lower ones. `.` means the
 * files beside the folders. Folders that are not listed are not checked.
 */
const folders: Record<string, readonly string[]> = {
  'packages/contract': ['schemas', 'operations'],
  'packages/runtime': ['.', 'contents', 'egress', 'memory', 'docker', 'process', 'embedded'],
  'packages/proxy': [
    'jsonrpc',
    'input',
    'protocol',
    'http',
    'transport',
    'connection',
    'middleware',
    'bridge',
    'endpoint',
    'upstream',
    'client',
    '.',
    'in-process',
  ],
  'packages/core': [
    'state',
    'fetch',
    'pasted',
    'audit',
    'secrets',
    'settings',
    'access',
    'events',
    'clients',
    'registry',
    'remote',
    'permissions',
    'network',
    'pinning',
    'provenance',
    'tool-search',
    'supervision',
    'workloads',
    'groups',
    'meta',
    'diagnosis',
    '.',
  ],
};

/** Files that may import more than their package, and why. */
const exceptions: Record<string, { allowed: readonly string[]; why: string }> = {
  'apps/cli/src/commands/system/serve.ts': {
    allowed: ['@toolhive/core', '@toolhive/api', '@toolhive/control'],
    why: 'it is the daemon',
  },
  'apps/cli/src/commands/system/ui-files.ts': {
    allowed: ['@toolhive/api'],
    why: 'it is part of the daemon',
  },
  'apps/cli/src/commands/system/ui-listener.ts': {
    allowed: ['@toolhive/core', '@toolhive/api'],
    why: 'it is part of the daemon',
  },
  'apps/cli/src/commands/system/unused.ts': {
    allowed: ['@toolhive/core', '@toolhive/api'],
    why: 'it is part of the daemon',
  },
  'apps/cli/src/commands/access.ts': {
    allowed: ['@toolhive/core/access'],
    why: 'access rules for the commands that are servers',
  },
  'apps/cli/src/commands/mcp/list.ts': {
    allowed: ['@toolhive/proxy/client'],
    why: 'an MCP client, which needs no daemon',
  },
  'apps/cli/src/commands/mcp/call.ts': {
    allowed: ['@toolhive/proxy/client'],
    why: 'an MCP client, which needs no daemon',
  },
  'apps/cli/src/commands/mcp/serve.ts': {
    allowed: ['@toolhive/control'],
    why: 'it is a server itself',
  },
  'apps/cli/src/commands/proxy/serve.ts': {
    allowed: ['@toolhive/core/access', '@toolhive/core/remote', '@toolhive/proxy'],
    why: 'a proxy without a daemon',
  },
  'apps/cli/src/commands/proxy/stdio.ts': {
    allowed: ['@toolhive/proxy/stdio-adapter'],
    why: 'transports the messages of a client',
  },
  'apps/cli/src/executable.ts': {
    allowed: [
      '@toolhive/core/keyring-helper',
      '@toolhive/runtime/gateway-command',
      '@toolhive/runtime/gateway-program',
    ],
    why: 'also the helpers, because the single executable contains no other program',
  },
  'apps/cli/src/commands/workloads/asked.ts': {
    allowed: ['@toolhive/core/pasted', '@toolhive/core/pasted-command', '@toolhive/core/pasted-path'],
    why: 'reads pasted input before the daemon starts',
  },
  'apps/cli/src/commands/workloads/import.ts': {
    allowed: ['@toolhive/core/pasted-document', '@toolhive/core/pasted-entry'],
    why: 'reads pasted input before the daemon starts',
  },
  'apps/cli/src/commands/workloads/workloads.ts': {
    allowed: ['@toolhive/core/pasted-command'],
    why: 'reads pasted input before the daemon starts',
  },
  'apps/cli/src/commands/workloads/requirements.ts': {
    allowed: ['@toolhive/core/pasted'],
    why: 'reads pasted input before the daemon starts',
  },
  'apps/cli/src/commands/workloads/catalogued.ts': {
    allowed: ['@toolhive/core/pasted'],
    why: 'reads pasted input before the daemon starts',
  },
  'apps/cli/src/commands/cluster/connection.ts': {
    allowed: ['@toolhive/kubernetes'],
    why: 'uses the kubeconfig of the user, which the daemon must not use',
  },
  'apps/cli/src/commands/cluster/contexts.ts': {
    allowed: ['@toolhive/kubernetes'],
    why: 'uses the kubeconfig of the user, which the daemon must not use',
  },
  'apps/cli/src/commands/cluster/ready.ts': {
    allowed: ['@toolhive/kubernetes'],
    why: 'uses the kubeconfig of the user, which the daemon must not use',
  },
  'apps/cli/src/commands/cluster/logs.ts': {
    allowed: ['@toolhive/kubernetes'],
    why: 'uses the kubeconfig of the user, which the daemon must not use',
  },
  'apps/cli/src/commands/cluster/port-forward.ts': {
    allowed: ['@toolhive/kubernetes'],
    why: 'uses the kubeconfig of the user, which the daemon must not use',
  },
  'apps/cli/src/daemon.ts': {
    allowed: ['@toolhive/core/files', '@toolhive/core/paths', '@toolhive/core/private-directory'],
    why: 'finds the socket and opens the log before the daemon starts',
  },
};

const importFrom = /(?:\bfrom|\bimport)\s*\(?\s*'(@toolhive\/[^']+|node:[^']+)'/g;

/** The type of the composed core, which each part may take as an argument. */
const composition = /^import type \{ Core \} from '\.\.\/core\.ts'/;

const importOfFile = /^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'/gm;

/** Returns every import that goes against the layers, one sentence each. */
export async function findLayerBreaches(): Promise<string[]> {
  const root = new URL('..', import.meta.url).pathname;
  const breaches: string[] = [];
  for (const [layer, allowed] of Object.entries(layers)) {
    for await (const path of glob(`${root}${layer}/src/**/*.{ts,tsx}`)) {
      const file = relative(root, path);
      if (file.endsWith('.test.ts') || file.includes('/testing/')) continue;
      const source = await readFile(path, 'utf8');
      breaches.push(...packageBreaches(layer, file, source, allowed), ...folderBreaches(layer, file, source));
    }
  }
  return breaches;
}

function packageBreaches(layer: string, file: string, source: string, allowed: readonly string[]): string[] {
  const mayImport = [...allowed, ...(exceptions[file]?.allowed ?? [])];
  const names = [...source.matchAll(importFrom)].map(([, name = '']) => name);
  return names
    .filter((name) =>
      name.startsWith('node:')
        ? layer === 'packages/contract'
        : !mayImport.some((own) => name === own || name.startsWith(`${own}/`)),
    )
    .map((name) => `${file} imports ${name}, which ${layer} may not`);
}

/** Returns the imports of a file from higher folders of its package, one sentence each. */
export function folderBreaches(layer: string, file: string, source: string): string[] {
  const order = folders[layer] ?? [];
  const folderOf = (path: string): string => {
    const [first = '', ...rest] = relative(join(layer, 'src'), path).split('/');
    return rest.length === 0 ? '.' : first;
  };
  const own = order.indexOf(folderOf(file));
  if (own === -1) return [];
  return [...source.matchAll(importOfFile)].flatMap(([statement, name = '']) => {
    const imported = join(dirname(file), name);
    const isHigher = order.indexOf(folderOf(imported)) > own && !composition.test(statement);
    return isHigher ? [`${file} imports ${imported}, which is in a higher folder`] : [];
  });
}
