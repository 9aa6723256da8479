import { Registry } from '@toolhive/contract/registry';
import { expect, test } from 'vitest';
import { builtInRegistry } from './built-in.ts';
import { RegistryIndex } from './search.ts';

const registry = Registry.parse(builtInRegistry);
const index = await RegistryIndex.build(registry);
const names = [...Object.keys(registry.servers), ...Object.keys(registry.remote_servers)];
const found = (query: string): string[] => index.search(query).map(({ name }) => name);

/** All ways to drop, swap, double, or replace one character. */
function misspellings(name: string): string[] {
  return Array.from(name).flatMap((letter, at) => {
    const [before, after] = [name.slice(0, at), name.slice(at + 1)];
    const replaced = letter === 'x' ? 'y' : 'x';
    const swapped = after === '' ? [] : [`${before}${after[0]}${letter}${after.slice(1)}`];
    return [
      `${before}${after}`,
      `${before}${letter}${letter}${after}`,
      `${before}${replaced}${after}`,
      ...swapped,
    ];
  });
}

test.each(names)('finds %s first by its name', (name) => {
  expect(found(name)[0]).toBe(name);
  expect(found(name.replaceAll('-', ' ').toUpperCase())[0]).toBe(name);
});

test.each(names.filter((name) => name.length >= 5))('finds %s in spite of one typing error', (name) => {
  const missed = misspellings(name).filter((query) => !found(query).slice(0, 3).includes(name));

  expect(missed).toEqual([]);
});

test('a name precedes texts of others', () => {
  expect(found('github')[0]).toBe('github');
  expect(found('githb')[0]).toBe('github');
  expect(found('search')[0]).toMatch(/search/);
  expect(found('search').indexOf('airtable')).toBeGreaterThan(3);
});

test('finds words in tags, tools, and descriptions, and parts of words', () => {
  expect(found('spreadsheet airtable')).toEqual(['airtable']);
  expect(found('hub')).toContain('github');
  expect(found('wright')).toEqual(['playwright']);
  expect(found('no such words')).toEqual([]);
  expect(found('  ')).toEqual([]);
  expect(found('constructor __proto__')).toEqual([]);
});

test('a very long text of an entry takes part only with its start', async () => {
  const server = registry.servers['fetch']!;
  const stuffed = { ...server, description: `${'filler '.repeat(1_000)}needle`, tools: [] };

  const one = await RegistryIndex.build({ ...registry, servers: { stuffed } });

  expect(one.search('filler')).toHaveLength(1);
  expect(one.search('needle')).toEqual([]);
});
