import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scan } from './scan.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-scan-'));
  await mkdir(join(home, 'gemini-cli'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

test.each([
  ['excluded', ['off']],
  ['allowed', ['on']],
])('servers that Gemini CLI turns off beside their entries stay with it: %s', async (key, names) => {
  const entry = { command: 'npx', args: ['-y', 'server'] };
  const settings = { mcpServers: { on: entry, off: entry }, mcp: { [key]: names } };
  await writeFile(join(home, 'gemini-cli', 'settings.json'), JSON.stringify(settings));

  const { servers } = await scan({
    clients: ['gemini-cli'],
    home,
    env: {},
    userFile: (client) => join(home, client, 'settings.json'),
    isOwn: () => false,
  });

  const problems = servers.flatMap(({ entries, failure }) =>
    entries.map(({ name }) => [name, failure?.message]),
  );
  expect(problems).toEqual([
    ['on', undefined],
    ['off', 'it is disabled'],
  ]);
});
