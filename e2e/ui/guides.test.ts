// @suite screenshots
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { reduce } from '../../apps/docs/test/pictures.ts';
import { docsCache } from '../testing/package-cache.ts';
import { publicRegistries, root } from '../testing/thv.ts';
import { readGuide } from './guide.ts';
import type { Instruction, Screenshot } from './guide.ts';
import { openWorld, registry, useBrowser } from './world.ts';
import type { UiWorld } from './world.ts';

useBrowser();

/** `npm run docs:ui-screenshots` takes the screenshots again instead of comparing their text. */
const isRenewed = process.env['UI_SCREENSHOTS'] === 'renew';
const textFile = new URL('screenshots.json', import.meta.url);
const folder = join(root, 'apps/docs/static/img/ui');
const maxScreenshotBytes = 80_000;
/** How long the text of a screen has to stay the same before a screenshot is taken. */
const settledMs = 1_500;

const texts = JSON.parse(await readFile(textFile, 'utf8')) as Record<string, string>;
afterAll(async () => {
  if (!isRenewed) return;
  const sorted = Object.fromEntries(Object.entries(texts).toSorted(([a], [b]) => a.localeCompare(b)));
  await writeFile(textFile, `${JSON.stringify(sorted, null, 2)}\n`);
});

/** Every page with steps, and the state of the machine that its prerequisites describe. */
const guides: Record<string, (world: UiWorld) => Promise<unknown>> = {
  'tutorials/quickstart-ui': installCursor,
  'guides-ui/install': async () => {},
  'guides-ui/run-mcp-servers': ({ user }) => mkdir(join(user.home, 'notes')),
  'guides-ui/client-configuration': async (world) => {
    await installCursor(world);
    await runEverything(world);
  },
  'guides-ui/group-management': async (world) => {
    await installCursor(world);
    await runEverything(world);
  },
  'guides-ui/registry': ({ user }) => writeFile(join(user.home, 'registry.json'), JSON.stringify(registry)),
  'guides-ui/secrets-management': async () => {},
  'guides-ui/network-isolation': runEverything,
  'guides-ui/playground': runEverything,
};

test.each(Object.entries(guides))('the steps of %s work', { timeout: 600_000 }, async (path, prepare) => {
  const steps = await readGuide(path);
  await using world = await openWorld({
    entries: 'built-in',
    env: {
      ...publicRegistries(),
      npm_config_prefer_offline: 'true',
      XDG_CACHE_HOME: docsCache,
    },
  });
  await prepare(world);
  await using visited = await world.open('/ui/', { viewport: { width: 1024, height: 720 } });
  const guest = { page: visited.page, home: world.user.home };

  for (const step of steps) {
    try {
      if ('screenshot' in step) await check(guest, step);
      else await follow(guest, step);
    } catch (failure) {
      const shown = await visited.page.locator('body').innerText();
      throw new Error(`${step.where}: ${String(failure)}\n${shown}`, { cause: failure });
    }
  }

  expect(steps.length).toBeGreaterThan(3);
  expect(visited.errors).toEqual([]);
});

/** How long a server may take that is installed first, on a busy machine. */
const firstStartMs = 120_000;

interface Guest {
  page: Page;
  /** The directory that the pages call `/home/you`. */
  home: string;
}

/** Does what an instruction of a page says. Fails unless exactly one visible control has the name. */
async function follow({ page, home }: Guest, instruction: Instruction): Promise<void> {
  const value = instruction.value.replaceAll('/home/you', home);
  const { name } = instruction;
  const label = new RegExp(`^${RegExp.escape(name)}( required)?$`);
  const field = (scope: Scope): Locator =>
    scope.getByLabel(label).or(scope.getByPlaceholder(name, { exact: true }));
  switch (instruction.action) {
    case 'open':
      return await page
        .getByRole('navigation', { name: 'Main' })
        .getByRole('link', { name, exact: true })
        .click();
    case 'open-tab':
      return await page.locator('nav.tabs').getByRole('link', { name, exact: true }).click();
    case 'select':
      return await (await only(page, name, (scope) => control(rowOf(page, scope, value), name))).click();
    case 'enter':
      return await (await only(page, name, field)).fill(value);
    case 'choose':
      return void (await (await only(page, name, field)).selectOption({ label: value }));
    case 'wait':
      return await page
        .getByText(new RegExp(`^\\s*${RegExp.escape(name.replaceAll('/home/you', home))}`))
        .filter({ visible: true })
        .first()
        .waitFor({ timeout: firstStartMs });
  }
}

type Scope = Page | Locator;

/** The row of a list or table that shows a text, or everything without one. */
function rowOf(page: Page, scope: Scope, text: string): Scope {
  if (text === '') return scope;
  return scope.locator('li, tr').filter({ has: page.getByText(text, { exact: true }) });
}

/** The control that shows a text or has an accessible name. */
function control(scope: Scope, name: string): Locator {
  const exact = { name, exact: true } as const;
  const shown = new RegExp(`^\\s*${RegExp.escape(name)}\\s*$`);
  return scope
    .getByRole('button', exact)
    .or(scope.getByRole('link', exact))
    .or(scope.getByRole('menuitem', exact))
    .or(scope.getByRole('checkbox', exact))
    .or(scope.getByRole('radio', exact))
    .or(scope.locator('button, summary').filter({ hasText: shown }));
}

/** Waits until exactly one visible element is found in the open dialog, or on the page if none is open. */
async function only(page: Page, name: string, find: (scope: Scope) => Locator): Promise<Locator> {
  let found = find(page);
  await expect
    .poll(
      async () => {
        const dialog = page.getByRole('dialog');
        found = find((await dialog.count()) > 0 ? dialog.last() : page).filter({ visible: true });
        return await found.count();
      },
      { message: `controls with the name ${name}`, timeout: 15_000 },
    )
    .toBe(1);
  return found;
}

/** Compares the text of a screen with the text that its screenshots show. */
async function check(guest: Guest, { screenshot }: Screenshot): Promise<void> {
  if (isRenewed) await take(guest, screenshot);

  await expect
    .poll(() => textOf(guest), {
      message: `${screenshot}.png shows an older screen: npm run docs:ui-screenshots`,
    })
    .toBe(texts[screenshot]);
  const sizes = await Promise.all(filesOf(screenshot).map(async (file) => (await stat(file)).size));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(maxScreenshotBytes);
}

/** Takes the screenshots of a screen, light and dark, and stores its text. */
async function take(guest: Guest, screenshot: string): Promise<void> {
  const { page } = guest;
  texts[screenshot] = await settledText(guest);
  await mkdir(folder, { recursive: true });
  await showToasts(page, false); // messages of earlier steps cover what the picture shows
  for (const [index, file] of filesOf(screenshot).entries()) {
    await page.emulateMedia({ colorScheme: index === 0 ? 'light' : 'dark', reducedMotion: 'reduce' });
    await showHome(guest);
    await writeFile(file, reduce(await page.screenshot({ animations: 'disabled' })));
  }
  await showToasts(page, true);
  await page.emulateMedia({ colorScheme: 'light' });
}

async function showToasts(page: Page, areShown: boolean): Promise<void> {
  await page.locator('.toasts').evaluateAll(
    (all, visibility) => {
      for (const one of all) (one as HTMLElement).style.visibility = visibility;
    },
    areShown ? '' : 'hidden',
  );
}

const filesOf = (screenshot: string): string[] =>
  [screenshot, `${screenshot}-dark`].map((name) => join(folder, `${name}.png`));

/** The controls and headings of the screen. Messages that disappear by themselves and data of servers are left out. */
async function textOf({ page, home }: Guest): Promise<string> {
  const texts = await page.evaluate(() => {
    const open = [...document.querySelectorAll('dialog[open]')].at(-1);
    const found = (open ?? document).querySelectorAll<HTMLElement>(
      'h1, h2, h3, legend, label, button, summary, nav a, [role=menuitem]',
    );
    return [...found]
      .filter((element) => element.closest('.toasts, .foreign') === null && element.checkVisibility())
      .map((element) => element.innerText);
  });
  const stable = texts.map((text) =>
    text
      .replaceAll(home, '/home/you')
      .replaceAll(/\d[\d.,]*/g, '0')
      .replaceAll(/\s[AP]M\b/g, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  return [...new Set(stable)].join(' | ');
}

async function settledText(guest: Guest): Promise<string> {
  for (;;) {
    const text = await textOf(guest);
    await guest.page.waitForTimeout(settledMs);
    if (text === (await textOf(guest)) && !text.includes('Loading')) return text;
  }
}

/** Shows the home directory of the test as `/home/you`. */
async function showHome({ page, home }: Guest): Promise<void> {
  await page.evaluate((path) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
      walker.currentNode.nodeValue = (walker.currentNode.nodeValue ?? '').replaceAll(path, '/home/you');
  }, home);
}

async function installCursor({ user }: UiWorld): Promise<void> {
  await mkdir(join(user.home, '.cursor'));
}

async function runEverything({ user }: UiWorld): Promise<void> {
  await user.mustThv('run', 'everything', '--permission-profile', 'none');
}
