import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { readPages } from './testing/pages.ts';
import { openReader } from './testing/reader.ts';
import { docsCache } from './testing/package-cache.ts';
import { makeUser, publicRegistries, root, until } from './testing/thv.ts';

/** The configuration file of the client that the tutorial connects. */
interface Configuration {
  mcpServers?: Record<string, { url: string }>;
}

test('a reader of the home page and the tutorial calls a tool in a client', async () => {
  const home = await readFile(join(root, 'apps/docs/src/pages/index.tsx'), 'utf8');
  const [, path] = /to="\/toolhive\/(tutorials\/[^"]+)"/.exec(home) ?? [];
  const page = (await readPages()).find((one) => one.path === `toolhive/${path}.mdx`);
  if (page === undefined) throw new Error(`the home page leads to ${path}, which does not exist`);
  const runnable = page.blocks.filter(({ marks }) => marks.includes('run'));
  const connected = runnable.findIndex(({ text }) => text.includes('thv client register'));
  await using user = await makeUser({
    env: {
      ...publicRegistries(),
      npm_config_prefer_offline: 'true',
      XDG_CACHE_HOME: docsCache,
    },
  });
  await using reader = await openReader(user, page);

  for (const block of runnable.slice(0, connected + 1)) await reader.run(block, undefined);
  const url = await until(async () => {
    const text = await readFile(join(user.home, '.cursor/mcp.json'), 'utf8').catch(() => '{}');
    return (JSON.parse(text) as Configuration).mcpServers?.['filesystem']?.url;
  });
  await using client = await connectTo(url);
  const note = await client.call('read_text_file', { path: '/projects/shopping.txt' });

  expect(connected).toBeGreaterThan(0);
  expect(note).toEqual({ text: 'Milk, bread, 3 lemons\n', failed: false });
});
