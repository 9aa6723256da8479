// @suite ui (in depth)
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWorld, useBrowser } from './world.ts';

useBrowser();

test('servers of a client are taken over and given back without a terminal', async () => {
  await using world = await openWorld();
  const path = join(world.user.home, '.cursor/mcp.json');
  const text = JSON.stringify({
    mcpServers: {
      echo: {
        command: 'npx',
        args: ['-y', 'toolhive-test-servers', 'echo'],
        env: { API_TOKEN: 'CaNaRy1x7Qz' },
      },
      other: { command: '/opt/program' },
    },
  });
  await mkdir(join(world.user.home, '.cursor'), { recursive: true });
  await writeFile(path, text);
  await using visited = await world.open('/ui/clients');
  const { page, errors } = visited;

  await page.getByRole('button', { name: 'Take over…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Moves to the secrets: API_TOKEN').waitFor();
  const shown = await dialog.textContent(); // also of a part that is not drawn yet
  await dialog.getByRole('button', { name: 'Take over 1 server' }).click();
  await page
    .getByRole('dialog', { name: 'Servers taken over' })
    .getByText('taken over', { exact: true })
    .waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Taken over: echo (cursor)').waitFor();
  const adopted = await readFile(path, 'utf8');
  await page.getByRole('button', { name: 'Give back…' }).click();
  await page.getByRole('button', { name: 'Give back', exact: true }).click();
  await page.getByText('Taken over:').waitFor({ state: 'detached' });

  expect(shown).toContain('Stays as it is: /opt/program not found');
  expect(shown).not.toContain('CaNaRy1x7Qz');
  expect(adopted).toMatch(/"echo":\{"url":"http:\/\/localhost:\d+\/mcp"/);
  expect(adopted).not.toContain('CaNaRy1x7Qz');
  expect(await readFile(path, 'utf8')).toBe(text);
  expect(errors).toEqual([]);
});

test('a server that is added later is offered', async () => {
  await using world = await openWorld();
  const path = join(world.user.home, '.cursor/mcp.json');
  await mkdir(join(world.user.home, '.cursor'), { recursive: true });
  await using visited = await world.open('/ui/clients');
  const { page } = visited;
  await page.getByRole('heading', { name: 'Clients' }).waitFor();

  await writeFile(path, JSON.stringify({ mcpServers: { later: { command: 'npx', args: ['-y', 'later'] } } }));
  await page.getByText('later (cursor)').waitFor({ timeout: 60_000 });

  expect(await page.getByRole('button', { name: 'Take over…' }).isVisible()).toBe(true);
});
