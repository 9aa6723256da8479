import { Registry } from '@toolhive/contract/registry';
import { parseSource } from '@toolhive/runtime/source';
import type { PackageSource, ServerSource } from '@toolhive/runtime/source';
import catalog from './catalog.json' with { type: 'json' };
import defaultRegistry from './default-registry.json' with { type: 'json' };
import type { Source, SourceState } from './source.ts';

/** The built-in registry: the servers in the specification, and the ones in `catalog.json`. */
export const builtInRegistry = {
  ...defaultRegistry,
  servers: { ...named(catalog.servers), ...defaultRegistry.servers },
};

function named<Entry extends object>(
  entries: Record<string, Entry>,
): Record<string, Entry & { name: string }> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, { ...entry, name }]));
}

interface CatalogEntry {
  image: string;
  env_vars?: { name: string; default?: string }[];
}

/** The variables that move a package's files into its server's home directory, as `NAME=/home/server/FILE`. */
export function homeFilesOf(source: ServerSource): string[] {
  if (source.kind !== 'package') return [];
  const entries: readonly CatalogEntry[] = Object.values(catalog.servers);
  const entry = entries.find(({ image }) => isSamePackage(parseSource(image), source));
  return (entry?.env_vars ?? []).flatMap(({ name, default: preset = '' }) =>
    preset.startsWith('/home/server/') ? [`${name}=${preset}`] : [],
  );
}

function isSamePackage(one: ServerSource, other: PackageSource): boolean {
  return one.kind === 'package' && one.scheme === other.scheme && one.name === other.name;
}

/** The built-in registry's entries. Checking all of them takes a twentieth of a daemon's start, so they wait for a reader. */
export function openBuiltIn(): Source {
  let state: SourceState | undefined;
  return {
    type: 'default',
    place: '',
    get state() {
      state ??= { registry: Registry.parse(builtInRegistry), skipped: [], isUnread: false, isStale: false };
      return state;
    },
    async read() {},
    async refresh() {},
    async [Symbol.asyncDispose]() {},
  };
}
