import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { root } from '../testing/thv.ts';
import { openWorld, useBrowser, violations } from './world.ts';
import type { UiWorld } from './world.ts';

useBrowser();

/** Tells its arguments and its variables. */
const server = `
const results = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'tell', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: JSON.stringify({ args: process.argv.slice(2), token: process.env.TOKEN }) }] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method]?.() ?? {} }));
});
`;

const manifest = {
  manifest_version: '0.4',
  name: 'notes',
  version: '1.0.0',
  description: 'Reads notes',
  author: { name: 'Ada' },
  server: {
    type: 'node',
    entry_point: 'index.js',
    mcp_config: {
      command: 'node',
      args: [
        '${__dirname}/index.js',
        '${user_config.folder}',
        '${user_config.limit}',
        '${user_config.deep}',
        '${user_config.tags}',
      ],
      env: { TOKEN: '${user_config.token}' },
    },
  },
  user_config: {
    folder: { type: 'directory', title: 'Folder', description: 'With the notes', required: true },
    token: { type: 'string', title: 'Token', description: 'Of the service', required: true, sensitive: true },
    limit: { type: 'number', title: 'Limit', description: 'Of notes', min: 1, max: 10, default: 3 },
    deep: { type: 'boolean', title: 'Deep', description: 'Also folders in it', default: false },
    tags: { type: 'string', title: 'Tags', description: 'Of notes', multiple: true },
    home: { type: 'directory', title: 'Home', description: 'Another folder', default: '${HOME}' },
  },
};

async function packIn({ user }: UiWorld): Promise<string> {
  const directory = join(user.home, 'source');
  await mkdir(directory);
  await writeFile(join(directory, 'manifest.json'), JSON.stringify(manifest));
  await writeFile(join(directory, 'index.js'), server);
  const bundle = join(user.home, 'notes.mcpb');
  await promisify(execFile)(join(root, 'node_modules/.bin/mcpb'), ['pack', directory, bundle]);
  return bundle;
}

test('a bundle asks for its values in a form, and runs with them', async () => {
  await using world = await openWorld();
  const bundle = await packIn(world);
  const folder = join(world.user.home, 'my notes');
  await mkdir(folder);
  await using visited = await world.open('/ui/add?tab=package');
  const { page, errors } = visited;

  await page.getByLabel('Package or image').fill(`mcpb://${bundle}`);
  // With the keyboard only.
  await page.getByRole('button', { name: 'Read the bundle' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Folder required').waitFor();
  const found = await violations(page);
  const shown = await page.getByRole('group', { name: 'Bundle' }).innerText();
  await page.getByLabel('Folder required').fill('my notes');
  await page.getByLabel('Token required').fill('CaNaRy1x7Qz');
  await page.getByLabel('Limit', { exact: true }).fill('7');
  await page.getByLabel('Deep', { exact: true }).selectOption('Yes');
  await page.getByLabel('Tags', { exact: true }).fill('one\ntwo\n');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const wrong = page.locator('[aria-invalid="true"]');
  await wrong.waitFor();
  const problem = await page.locator(`[id="${await wrong.getAttribute('aria-describedby')}"]`).innerText();
  const isFocused = await wrong.evaluate((field) => field === document.activeElement);
  await page.getByLabel('Folder required').fill(`${folder}:ro`);
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void (document.title = text);
  });
  await page.getByRole('button', { name: 'Copy as thv run' }).click();
  await expect.poll(() => page.title()).toContain('--config limit=7');
  const copied = await page.title();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.waitForURL('**/ui/w/notes');

  expect(found).toEqual([]);
  expect(await page.content()).not.toContain('CaNaRy1x7Qz');
  expect(copied).toContain('--config tags=one --config tags=two');
  expect(copied).not.toContain('CaNaRy1x7Qz');
  expect(shown).toContain('The bundle proposes');
  expect(problem).toContain('my notes');
  expect(isFocused).toBe(true);
  const {
    proxy_url: url,
    volumes,
    user_config,
  } = (await (await world.api('GET', '/workloads/notes')).json()) as {
    proxy_url: string;
    volumes: string[];
    user_config: object;
  };
  await using client = await connectTo(url);
  const told = JSON.parse((await client.call('tell')).text) as { args: string[]; token: string };
  expect(told).toEqual({ args: [folder, '7', 'true', 'one', 'two'], token: 'CaNaRy1x7Qz' });
  expect(volumes.filter((volume) => volume.startsWith(world.user.home))).toEqual([`${folder}:${folder}:ro`]);
  expect(JSON.stringify(user_config)).not.toContain('CaNaRy1x7Qz');
  expect(errors).toEqual([]);
});
