import { glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** The packages that each package may import. Dependencies point in one direction. */
const layers: Record<string, readonly string[]> = {
  'packages/contract': [],
  'packages/testing': [],
  'packages/test-servers': [],
  'packages/pasted': ['contract'],
  'packages/kubernetes': ['contract'],
  'packages/bundles': ['contract'],
  'packages/runtime': ['contract', 'bundles'],
  'packages/outgoing': ['contract', 'runtime'],
  'packages/tool-search': ['contract', 'outgoing'],
  'packages/state': ['contract', 'runtime'],
  'packages/clients': ['contract', 'state'],
  'packages/audit': ['contract', 'state', 'proxy'],
  'packages/secrets': ['contract', 'state'],
  'packages/registry': ['contract', 'runtime', 'outgoing', 'state'],
  'packages/proxy': ['contract', 'runtime'],
  'packages/history': ['contract', 'state', 'proxy', 'audit'],
  'packages/access': ['contract', 'runtime', 'outgoing', 'state', 'secrets', 'proxy'],
  'packages/remote': ['contract', 'runtime', 'outgoing', 'state', 'secrets', 'proxy'],
  'packages/combined': ['contract', 'proxy'],
  'packages/core': [
    'contract',
    'bundles',
    'tool-search',
    'combined',
    'runtime',
    'outgoing',
    'state',
    'clients',
    'secrets',
    'registry',
    'proxy',
    'access',
    'remote',
    'audit',
    'history',
  ],
  'packages/adoption': ['contract', 'pasted', 'state', 'clients', 'secrets', 'core'],
  'packages/project': ['contract', 'pasted', 'runtime', 'state', 'core', 'adoption'],
  'packages/control': ['contract', 'proxy'],
  'packages/operator': ['contract', 'pasted', 'runtime', 'outgoing', 'kubernetes', 'registry', 'core'],
  'packages/api': [
    'contract',
    'pasted',
    'registry',
    'proxy',
    'access',
    'audit',
    'core',
    'adoption',
    'project',
  ],
  'packages/daemon': ['contract', 'access', 'control', 'core', 'adoption', 'api', 'state'],
  'packages/cli': ['contract', 'bundles', 'pasted'],
  'apps/cli': ['cli', 'contract'],
  'apps/operator': [
    'contract',
    'tool-search',
    'kubernetes',
    'runtime',
    'registry',
    'access',
    'core',
    'api',
    'operator',
  ],
  'apps/web': ['contract', 'testing'],
  'apps/docs': ['contract', 'testing', 'clients', 'state', 'proxy', 'operator', 'cli'],
};

/**
 * The folders of a package, the lowest first. A file imports from its own folder and from lower ones. `.` means the
 * files beside the folders, which are the highest if they are not listed. `testing` folders contain no product code.
 */
const folders: Record<string, readonly string[]> = {
  'packages/contract': ['schemas', 'operations'],
  'packages/state': ['settings'],
  'packages/registry': ['.', 'provenance'],
  'packages/operator': ['runtime', 'crds', 'templates', 'controllers'],
  'packages/test-servers': ['conformance', 'apps'],
  'packages/cli': ['commands'],
  'apps/operator': ['meta', 'runner'],
  'packages/runtime': ['.', 'contents', 'egress', 'memory', 'docker', 'process', 'embedded', 'attacks'],
  'packages/proxy': [
    'sealing',
    'jsonrpc',
    'input',
    'protocol',
    'repair',
    'http',
    'transport',
    'connection',
    'middleware',
    'bridge',
    'endpoint',
    'upstream',
    'replicas',
    'client',
    '.',
    'in-process',
  ],
  'packages/core': [
    'run-config',
    'parts',
    'runtimes',
    'settings',
    'events',
    'permissions',
    'supervision',
    'network',
    'traffic',
    'pins',
    'capabilities',
    'workloads',
    'groups',
    'meta',
    'diagnosis',
    'wings',
    '.',
  ],
};

/** Files and folders that may import more than their package, and why. At most eight. */
export const exceptions: Record<string, { allowed: readonly string[]; why: string }> = {
  'packages/cli/src/commands/system/': {
    allowed: ['access', 'core', 'api', 'state', 'daemon'],
    why: 'starts the daemon, with the options of a command',
  },
  'packages/cli/src/commands/proxy/': {
    allowed: ['access', 'remote', 'secrets', 'proxy'],
    why: 'a proxy without a daemon',
  },
  'packages/cli/src/commands/access.ts': {
    allowed: ['access'],
    why: 'access rules for the commands that are servers',
  },
  'packages/cli/src/commands/mcp/': {
    allowed: ['control', 'outgoing', 'proxy'],
    why: 'MCP clients, which need no daemon, and the server of the tools of ToolHive',
  },
  'packages/cli/src/commands/cluster/': {
    allowed: ['kubernetes', 'operator', 'audit', 'access'],
    why: 'uses the kubeconfig of the user, which the daemon must not use, and files and lists of proxies without a daemon',
  },
  'packages/cli/src/commands/workloads/inspector-install.ts': {
    allowed: ['state'],
    why: 'installs a program in the cache of the user',
  },
  'packages/cli/src/daemon.ts': {
    allowed: ['state'],
    why: 'finds the socket and opens the log before the daemon starts',
  },
  'apps/cli/src/executable.ts': {
    allowed: ['secrets', 'runtime'],
    why: 'also the helpers, because the single executable contains no other program',
  },
};

const importOfPackage = /(?:\bfrom|\bimport)\s*\(?\s*'(?:@toolhive\/([^'/]+)|(node:)[^']*)/g;

/** The types of the composed core and of its wings, which each function may take as an argument. */
const composition = /^import type \{ [^}]+ \} from '(?:\.\.\/)+(?:core|wings\/\w+)\.ts'/;

const importOfFile = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^'\n]+)'/g;
const statementOfFile = /^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'/gm;

const root = new URL('..', import.meta.url).pathname;
const isForTests = (file: string): boolean => /\.test\.tsx?$|\/(?:testing|test|bench)\//.test(file);

/** Returns every import that goes against the layers, and every package and folder without a layer, one sentence each. */
export async function findLayerBreaches(): Promise<string[]> {
  const breaches = await findUnlisted();
  for (const [layer, allowed] of Object.entries(layers)) {
    for await (const path of glob(`${root}${layer}/**/*.{ts,tsx}`, {
      exclude: (name) => skipped.has(name),
    })) {
      const file = relative(root, path);
      const source = await readFile(path, 'utf8');
      breaches.push(...outsideBreaches(layer, file, source));
      if (!isForTests(file))
        breaches.push(
          ...packageBreaches(layer, file, source, allowed),
          ...folderBreaches(layer, file, source),
        );
    }
  }
  return breaches;
}

const skipped = new Set(['node_modules', 'dist', 'build', '.docusaurus']);

/** Packages and folders that a newcomer could add without a decision about their layer. */
async function findUnlisted(): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob(`${root}{packages,apps}/*/package.json`)) {
    const layer = relative(root, dirname(path));
    if (!(layer in layers)) found.push(`${layer} has no layer in scripts/layers.ts`);
  }
  for await (const path of glob(`${root}{packages/*,apps/operator}/src/*/*`)) {
    const [top = '', name = '', , folder = ''] = relative(root, path).split('/');
    const layer = `${top}/${name}`;
    if (folder === 'testing' || folders[layer]?.includes(folder) === true) continue;
    const sentence = `${layer}/src/${folder} has no layer in scripts/layers.ts`;
    if (!found.includes(sentence)) found.push(sentence);
  }
  return found;
}

/**
 * No package and no app imports by path from another one, or from the tests and scripts of the repository. The tests of an app
 * may use the script that builds it.
 */
export function outsideBreaches(layer: string, file: string, source: string): string[] {
  if (file.startsWith('apps/') && file.includes('/bench/')) return [];
  const buildsIt = /^apps\/[^/]+\/test\//.test(file);
  return [...source.matchAll(importOfFile)].flatMap(([, name = '']) => {
    const imported = join(dirname(file), name);
    return imported.startsWith(`${layer}/`) || (buildsIt && imported.startsWith('scripts/'))
      ? []
      : [`${file} imports ${imported}, which is outside of ${layer}`];
  });
}

function packageBreaches(layer: string, file: string, source: string, allowed: readonly string[]): string[] {
  const own = layer.replace('packages/', '');
  const more = Object.entries(exceptions).flatMap(([path, exception]) =>
    file.startsWith(path) ? exception.allowed : [],
  );
  return [...source.matchAll(importOfPackage)].flatMap(([, name, node]) => {
    if (node !== undefined)
      return layer === 'packages/contract' ? [`${file} imports from Node.js, but also runs in browsers`] : [];
    if (name === undefined || name === own || allowed.includes(name) || more.includes(name)) return [];
    return [`${file} imports @toolhive/${name}, which ${layer} may not`];
  });
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
  return [...source.matchAll(statementOfFile)].flatMap(([statement, name = '']) => {
    const imported = join(dirname(file), name);
    const isHigher = order.indexOf(folderOf(imported)) > own && !composition.test(statement);
    return isHigher ? [`${file} imports ${imported}, which is in a higher folder`] : [];
  });
}
