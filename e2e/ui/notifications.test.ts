import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chromium } from 'playwright-core';
import type { BrowserContext, Page } from 'playwright-core';
import { chromiumOptions } from '@toolhive/testing/machine';
import { testServer } from '../testing/thv.ts';
import { useBrowser, useWorld } from './world.ts';

useBrowser();
const world = useWorld();

interface Shown {
  title: string;
  body: string;
}

/** The complete browser with the permission. Every page remembers its notifications, which the browser still shows. */
async function openWithPermission(base: string): Promise<BrowserContext & AsyncDisposable> {
  const browser = await chromium.launch({ ...chromiumOptions, executablePath: '/usr/bin/chromium' });
  const context = await browser.newContext({ permissions: ['notifications'], baseURL: base });
  await context.addInitScript(() => {
    const scope = globalThis as unknown as { shown: Notification[]; Notification: typeof Notification };
    scope.shown = [];
    scope.Notification = class extends Notification {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        scope.shown.push(this);
      }
    };
  });
  return Object.assign(context, { [Symbol.asyncDispose]: () => browser.close() });
}

/** Runs a server that ends at once, and waits until it is given up. */
async function runAndEnd(name: string): Promise<void> {
  await world().remove(name);
  await world().user.thv('run', '--name', name, testServer, '--', 'exit-at-once');
}

const shownOn = (page: Page): Promise<Shown[]> =>
  page.evaluate(() =>
    (globalThis as unknown as { shown: Notification[] }).shown.map(({ title, body }) => ({ title, body })),
  );

test('a switch turns notifications on, and one of several tabs tells of a failure, which a click opens', async () => {
  await using context = await openWithPermission(world().base);
  const page = await context.newPage();
  await page.goto('/ui/settings');
  const other = await context.newPage();
  await other.goto('/ui/');
  const toggle = page.getByRole('switch', { name: /^Notify about failures/ });
  const before = await toggle.isChecked();

  await runAndEnd('quiet');
  await other.getByRole('rowheader', { name: 'quiet' }).waitFor();
  const unasked = await shownOn(page);
  await toggle.click();
  await page.getByText('For this browser, while a tab').waitFor();
  await runAndEnd('broken');
  await expect.poll(() => shownOn(page), { timeout: 30_000 }).toHaveLength(1);

  expect([before, unasked]).toEqual([false, []]);
  const [shown] = await shownOn(page);
  expect(shown?.title).toMatch(/^A server (?:failed|does not respond)$/);
  expect(shown?.body).toMatch(/^broken: ./);
  expect(await shownOn(other)).toEqual([]);
  await page.evaluate(() =>
    (globalThis as unknown as { shown: Notification[] }).shown[0]?.dispatchEvent(new Event('click')),
  );
  await page.waitForURL(/\/ui\/w\/broken$/);
  await page.close();
  await runAndEnd('next');
  await expect.poll(() => shownOn(other), { timeout: 30_000 }).toMatchObject([{ body: /^next: / }]);
});

test('settings have names for people, and those with choices have a list', async () => {
  await using visited = await world().open('/ui/settings');
  const { page } = visited;
  const network = page.getByLabel('Default network', { exact: true });
  const stored = async (): Promise<unknown> => {
    const answer = await world().api('GET', '/settings/default-network');
    return ((await answer.json()) as { value: unknown }).value;
  };

  await network.selectOption({ label: 'no network' });
  await page.getByRole('button', { name: 'Save Default network' }).click();
  await expect.poll(stored).toBe('none');
  await network.selectOption({ label: 'not set' });
  await page.getByRole('button', { name: 'Save Default network' }).click();
  await expect.poll(stored).toBe(null);

  expect(await page.getByText('default-network', { exact: true }).isVisible()).toBe(true);
});

test('found clients are cards with the names of their products, and the others are folded', async () => {
  await mkdir(join(world().user.home, '.cursor'));
  await using visited = await world().open('/ui/clients');
  const { page } = visited;

  const found = page.getByRole('list', { name: 'Clients on this machine' }).getByRole('listitem');
  await found.getByRole('heading', { name: 'Cursor editor' }).waitFor();
  const other = page.getByText('Visual Studio Code Insiders', { exact: false });
  await page.getByText(/other supported clients, not found on this machine/).waitFor();
  const isFolded = await other.isVisible();
  await page.getByText(/other supported clients, not found on this machine/).click();

  expect([await found.count(), isFolded]).toEqual([1, false]);
  await other.waitFor();
});
