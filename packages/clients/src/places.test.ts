import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findPlaces, readPlace } from './places.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-places-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

test('the servers of each profile of Visual Studio Code are found', async () => {
  const files = [
    'mcp.json',
    'profiles/5552b383/mcp.json',
    'profiles/builtin/x/mcp.json',
    'profiles/none/settings.json',
  ];
  for (const file of files) {
    const path = join(home, 'User', file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ servers: { [file]: { command: 'npx' } } }));
  }

  const places = await findPlaces({
    userFiles: (client) => [client === 'vscode' ? join(home, 'User/mcp.json') : join(home, client)],
    projects: [],
  });
  const names = await Promise.all(places.map(async (place) => [...(await readPlace(place)).entries.keys()]));

  expect(names).toEqual([['mcp.json'], ['profiles/5552b383/mcp.json']]);
  expect(places.map(({ scope, isShared }) => [scope, isShared])).toEqual([
    ['user', false],
    ['user', false],
  ]);
});

test.each([
  ['junie', '.junie/mcp/mcp.json'],
  ['kilo-code', '.kilocode/mcp.json'],
  ['amazon-q', '.amazonq/mcp.json'],
  ['roo-code', '.roo/mcp.json'],
])('the servers of %s in a project are found, and belong to others: %s', async (client, file) => {
  const path = join(home, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, JSON.stringify({ mcpServers: { time: { command: 'uvx', args: ['time'] } } }));

  const places = await findPlaces({ userFiles: () => [], projects: [home] });

  expect(places).toMatchObject([{ application: { id: client }, path, scope: 'project', isShared: true }]);
});
