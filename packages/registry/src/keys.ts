import { createHash } from 'node:crypto';

const maxKeyLength = 80;

/** The namespace of ToolHive's own entries in an MCP registry. Their keys are the names without this namespace. */
export const ownNamespace = 'dev.toolhive';
const ownName = new RegExp(`^${RegExp.escape(ownNamespace)}/([\\w.-]+)$`);

/**
 * Keys for names such as `io.github.user/server`, which a registry's keys cannot be: `io-github-user-server`. Names
 * that would become the same key each get a part of their hash, so that none takes the place of another. What
 * imitates such a key gets none.
 */
export function keysFor(names: readonly string[]): Map<string, string> {
  const plain = Map.groupBy(new Set(names), plainKey);
  const taken = new Set<string>();
  const keys = new Map<string, string>();
  for (const [key, rivals] of plain) {
    if (rivals.length === 1) continue;
    for (const name of rivals) {
      const hashed = `${key}-${hashOf(name)}`;
      keys.set(name, hashed);
      taken.add(hashed);
    }
  }
  for (const [key, [name = '', ...rivals]] of plain) {
    if (rivals.length === 0 && !taken.has(key)) keys.set(name, key);
  }
  return keys;
}

function plainKey(name: string): string {
  const [, ownKey] = ownName.exec(name) ?? [];
  if (ownKey !== undefined) return ownKey;
  const key = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  if (key.length >= 3 && key.length <= maxKeyLength) return key;
  return `${key.slice(0, maxKeyLength).replace(/-$/, '') || 'server'}-${hashOf(name)}`;
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}
