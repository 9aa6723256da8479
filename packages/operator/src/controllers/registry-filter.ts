import type { Registry } from '@toolhive/contract/registry';

/** Which registry entries to take. Patterns of names know `*` and `?`. Exclusion has precedence. */
export interface RegistryFilter {
  names?: Selection | undefined;
  tags?: Selection | undefined;
}

interface Selection {
  include?: string[] | undefined;
  exclude?: string[] | undefined;
}

/** Removes the servers that a filter excludes. Groups stay unchanged. */
export function filterRegistry(registry: Registry, filter: RegistryFilter | undefined): Registry {
  if (filter === undefined) return registry;
  const take = <T extends { tags?: string[] | null | undefined }>(entries: Record<string, T> | undefined) =>
    entries === undefined
      ? entries
      : Object.fromEntries(
          Object.entries(entries).filter(([name, { tags }]) => isWanted(name, tags ?? [], filter)),
        );
  return {
    ...registry,
    servers: take(registry.servers) ?? {},
    remote_servers: take(registry.remote_servers) ?? {},
  };
}

function isWanted(name: string, tags: readonly string[], filter: RegistryFilter): boolean {
  const isNamed = isSelected(filter.names, (pattern) => matchesPattern(name, pattern));
  return isNamed && isSelected(filter.tags, (tag) => tags.includes(tag));
}

function isSelected(
  { include = [], exclude = [] }: Selection = {},
  matches: (text: string) => boolean,
): boolean {
  if (exclude.some(matches)) return false;
  return include.length === 0 || include.some(matches);
}

/** Compares in linear time, without a regular expression from a spec. */
function matchesPattern(name: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let mark = 0;
  while (at < name.length) {
    if (pattern[next] === '*') {
      star = next;
      mark = at;
      next += 1;
    } else if (pattern[next] === '?' || (next < pattern.length && pattern[next] === name[at])) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      next = star + 1;
      mark += 1;
      at = mark;
    } else {
      return false;
    }
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}
