import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../testing/thv.ts';
import { openWorld, useBrowser, useWorld } from './world.ts';
import { proves } from '@toolhive/testing/promises';

useBrowser();
const world = useWorld();

/** The most clicks from an empty daemon to a connected client. */
const maxClicks = 6;

test('leads from an empty daemon to a tool call and a connected client with the keyboard alone', async () => {
  proves('ui.served');
  await using world = await openWorld({
    prepare: ({ home }) => mkdir(join(home, '.cursor')),
  });
  await using visited = await world.open();
  const { page } = visited;
  let clicks = 0;
  const press = async (name: string): Promise<void> => {
    await focusByTab(page, name);
    await page.keyboard.press('Enter');
    clicks++;
  };

  await page.getByRole('link', { name: 'Get started' }).waitFor();
  await press('Get started');
  await page.getByRole('button', { name: 'Run everything' }).waitFor();
  await press('Run everything');
  await page.getByRole('button', { name: 'Call the tool echo' }).waitFor();
  await press('Call the tool echo');
  await page.getByText('The server answered').waitFor();
  await press('Connect Cursor editor');
  await page.getByText('✓ registered').waitFor();

  expect(clicks).toBeLessThanOrEqual(maxClicks);
  expect(await page.locator('.foreign').innerText()).toContain('Hello from ToolHive');
  // The page shows the decision, and the file follows.
  const path = join(world.user.home, '.cursor/mcp.json');
  const text = await until(() => readFile(path, 'utf8').catch(() => undefined));
  const file = JSON.parse(text) as object;
  expect(file).toMatchObject({
    mcpServers: { everything: { url: expect.stringContaining('http://localhost:') } },
  });
  const permissions = (await (await world.api('GET', '/workloads/everything/permissions')).json()) as object;
  expect(permissions).toMatchObject({ network: { kind: 'none', enforced: true }, mounts: [] });
});

/** Moves the focus with Tab until it is on the control of this name. Throws if it never is. */
async function focusByTab(page: Page, name: string): Promise<void> {
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press('Tab');
    const label = await page.evaluate(() => {
      const { activeElement: focused } = document;
      return focused?.getAttribute('aria-label') ?? focused?.textContent;
    });
    if (label?.trim() === name) return;
  }
  throw new Error(`the focus never reaches ${name}`);
}

test('the command palette finds every action of a workload, and runs it', async () => {
  await world().run('tester');
  await using visited = await world().open();
  const { page } = visited;
  await page.getByRole('link', { name: 'tester', exact: true }).waitFor();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('tester');
  const options = await page.getByRole('option').allInnerTexts();
  await page.keyboard.type(' stop');
  await page.keyboard.press('Enter');

  await page.getByText('Stopped', { exact: true }).waitFor();
  for (const action of [
    'stop',
    'restart',
    'tools',
    'traffic',
    'network',
    'logs',
    'edit',
    'duplicate',
    'copy URL',
    'remove',
  ])
    expect(options).toContain(`tester: ${action}`);
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('menus can be used with the keyboard, and give the focus back', async () => {
  await world().run('menu');
  await using visited = await world().open();
  const { page } = visited;
  const button = page.getByRole('button', { name: 'Actions for menu' });
  await button.focus();

  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Open tools' }).waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Open tools');
  await page.keyboard.press('End');
  await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Remove');
  await page.keyboard.press('Escape');

  await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
});
