import { Registry } from '@toolhive/contract/registry';
import catalog from './catalog.json' with { type: 'json' };
import defaultRegistry from './default-registry.json' with { type: 'json' };
import type { Source } from './source.ts';

/** The registry that comes with the product: the servers of the specification, and those that `catalog.json` adds. */
export const builtInRegistry = {
  ...defaultRegistry,
  servers: { ...named(catalog.servers), ...defaultRegistry.servers },
};

function named<Entry extends object>(
  entries: Record<string, Entry>,
): Record<string, Entry & { name: string }> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, { ...entry, name }]));
}

/** The catalogue that comes with the product. */
export function openBuiltIn(): Source {
  const registry = Registry.parse(builtInRegistry);
  return {
    type: 'default',
    place: '',
    state: { registry, skipped: [], isUnread: false, isStale: false },
    async read() {},
    async refresh() {},
    async [Symbol.asyncDispose]() {},
  };
}
