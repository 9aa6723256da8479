import { Registry } from '@toolhive/contract/registry';
import defaultRegistry from './default-registry.json' with { type: 'json' };
import type { Source } from './source.ts';

/** The catalogue that comes with the product. */
export function openBuiltIn(): Source {
  const registry = Registry.parse(defaultRegistry);
  return {
    type: 'default',
    place: '',
    state: { registry, skipped: [], isUnread: false, isStale: false },
    async read() {},
    async refresh() {},
    async [Symbol.asyncDispose]() {},
  };
}
