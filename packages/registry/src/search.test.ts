import { Registry } from '@toolhive/contract/registry';
import { expect, test } from 'vitest';
import { builtInRegistry } from './built-in.ts';
import { RegistryIndex } from './search.ts';

const registry = Registry.parse(builtInRegistry);
const index = await RegistryIndex.build(registry);
const names = [...Object.keys(registry.servers), ...Object.keys(registry.remote_servers)];
const found = async (query: string): Promise<string[]> => (await index.search(query)).map(({ name }) => name);

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

test.each(names)('finds %s first by its name', async (name) => {
  expect((await found(name))[0]).toBe(name);
  expect((await found(name.replaceAll('-', ' ').toUpperCase()))[0]).toBe(name);
});

test.each(names.filter((name) => name.length >= 5))('finds %s in spite of one typing error', async (name) => {
  const missed: string[] = [];

  for (const query of misspellings(name))
    if (!(await found(query)).slice(0, 3).includes(name)) missed.push(query);

  expect(missed).toEqual([]);
});

test('a name precedes texts of others', async () => {
  expect((await found('github'))[0]).toBe('github');
  expect((await found('githb'))[0]).toBe('github');
  expect((await found('search'))[0]).toMatch(/search/);
  expect((await found('search')).indexOf('airtable')).toBeGreaterThan(3);
});

test('finds words in tags, tools, and descriptions, and parts of words', async () => {
  expect(await found('spreadsheet airtable')).toEqual(['airtable']);
  expect(await found('hub')).toContain('github');
  expect(await found('wright')).toEqual(['playwright']);
  expect(await found('no such words')).toEqual([]);
  expect(await found('  ')).toEqual([]);
  expect(await found('constructor __proto__')).toEqual([]);
});

test('a very long text of an entry takes part only with its start', async () => {
  const server = registry.servers['fetch']!;
  const stuffed = { ...server, description: `${'filler '.repeat(1_000)}needle`, tools: [] };

  const one = await RegistryIndex.build({ ...registry, servers: { stuffed } });

  expect(await one.search('filler')).toHaveLength(1);
  expect(await one.search('needle')).toEqual([]);
});

test('a search of frequent words in a large registry takes turns with other work', async () => {
  const server = registry.servers['fetch']!;
  const words = ['server', 'search', 'data', 'tools'];
  const description = `A ${words.join(' ')} for everything, ${'with many more words '.repeat(10)}`;
  const many = Array.from(
    { length: 10_000 },
    (_, at) => [`entry-${at}`, { ...server, description }] as const,
  );
  const large = await RegistryIndex.build({
    ...registry,
    servers: Object.fromEntries(many),
    remote_servers: {},
  });
  let turns = 0;
  let isOver = false;
  const work = (): void => {
    turns += 1;
    if (!isOver) setImmediate(work);
  };
  setImmediate(work);

  const all = await large.search(words.join(' '));
  isOver = true;

  expect(all).toHaveLength(10_000);
  expect(turns).toBeGreaterThan(20);
  expect((await large.search('entry-7777'))[0]?.name).toBe('entry-7777');
});
