// @suite docs (in depth)
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hydrated } from '../bench/hydrated.ts';
import { saveData, useBrowser } from './browse.ts';
import type { Visit } from './browse.ts';
import { axe, faultsInMode } from './faults.ts';
import { faultsOfWords, pagesOfAllKinds, readPage } from './kinds.ts';

const visit = useBrowser();
const routes = (await readFile(new URL('routes.txt', import.meta.url), 'utf8')).trim().split('\n');

type Mode = 'dark' | 'light';

interface Check {
  route: string;
  modes: readonly Mode[];
  rules: 'all' | 'words';
  /** Whether what is around a page is looked at, too. */
  isWhole: boolean;
  /** Whether the page is checked as the build wrote it, without scripts. */
  isPlain: boolean;
}

const isCommand = (route: string): boolean => route.startsWith('/toolhive/reference/cli/');
const pages = await Promise.all(routes.map(readPage));
const ofAllKinds = pagesOfAllKinds(pages);
const commandsOfAllKinds = pagesOfAllKinds(pages.filter(({ route }) => isCommand(route)));

/**
 * The pages that together have every kind of element are checked in both modes, and every fourth of them with what is
 * around, which is the same on all pages. Other pages have the same colors and other words, and are checked for those in
 * one mode. Of the pages of commands, some are checked that together have every kind of element on these. The words of
 * all of them are checked in the last test.
 */
const checks = [...routes, '/nothing-here'].flatMap((route, index): Check[] => {
  const isWhole = !route.startsWith('/toolhive/') || index % 4 === 0;
  if (ofAllKinds.has(route) || route === '/nothing-here')
    return [{ route, modes: ['dark', 'light'], rules: 'all', isWhole, isPlain: false }];
  const modes: Mode[] = [index % 2 === 0 ? 'dark' : 'light'];
  if (!isCommand(route)) return [{ route, modes, rules: 'words', isWhole: false, isPlain: false }];
  return commandsOfAllKinds.has(route) ? [{ route, modes, rules: 'all', isWhole: false, isPlain: true }] : [];
});

/** While one is loaded, another is looked at. */
const lanes = 3;
interface Lane {
  visited: Visit;
  blockScripts: (isBlocked: boolean) => Promise<void>;
}
let free: Lane[] = [];
const waiting: (() => void)[] = [];

beforeAll(async () => {
  const before = async (page: Page): Promise<void> => {
    page.setDefaultTimeout(30_000); // they wait for each other
    await page.addInitScript(holdStill);
    await saveData(page);
    await page.addInitScript(axe); // as a script of the page its policy would keep it out
  };
  free = await Promise.all(
    Array.from({ length: lanes }, async () => {
      const visited = await visit('/', { before });
      const session = await visited.page.context().newCDPSession(visited.page);
      await session.send('Network.enable');
      const blockScripts = async (isBlocked: boolean): Promise<void> => {
        await session.send('Network.setBlockedURLs', { urls: isBlocked ? ['*/assets/js/*'] : [] });
      };
      return { visited, blockScripts };
    }),
  );
});
afterAll(() => Promise.all(free.map(({ visited }) => visited[Symbol.asyncDispose]())));

/** The longest page has thousands of elements, each of which is held to each rule. */
const timeout = 240_000;

test.concurrent.for(checks)(
  '$route is accessible in $modes, and sends no request to other hosts',
  { timeout },
  async ({ route, modes, rules, isWhole, isPlain }) => {
    await using lane = await takeLane();
    const { page, errors, foreign } = lane.visited;
    errors.length = 0;
    const [first, ...others] = modes;
    await page.emulateMedia({ colorScheme: first });
    await lane.blockScripts(isPlain);
    await page.goto(route);
    if (isPlain) await page.evaluate(removeAll, around);
    else await hydrated(page);

    const without = isWhole ? [] : around;
    const found = await faultsInMode(page, { without, rules });
    for (const mode of others) {
      await page.emulateMedia({ colorScheme: mode });
      await page.waitForSelector(`html[data-theme="${mode}"]`);
      found.push(...(await faultsInMode(page, { without, rules: 'colors' })));
    }

    expect(found).toEqual([]);
    expect(foreign).toEqual([]);
    const expected = isPlain ? 'ERR_BLOCKED_BY_CLIENT' : route === '/nothing-here' ? '404' : undefined;
    expect(errors.filter((error) => expected === undefined || !error.includes(expected))).toEqual([]);
  },
);

test('no page has a fault that comes from its words', () => {
  const found = pages.filter(({ route }) => route !== '/theme-preview').flatMap(faultsOfWords);

  expect(checks.length).toBeGreaterThan(60);
  expect(found).toEqual([]);
});

const around = ['.navbar', '.theme-doc-sidebar-container', 'footer.footer'];

/**
 * Runs in the page before its own scripts. Draws the whole API reference, because the browser guesses the height of parts
 * that are not drawn, and the content of a higher part would count as overlapping the next part.
 */
function holdStill(): void {
  const still = new CSSStyleSheet();
  still.replaceSync(
    '*, ::before, ::after { transition: none !important; animation: none !important } .api-part { content-visibility: visible !important }',
  );
  document.adoptedStyleSheets = [still];
}

/** Runs in the page. The checks of a page without its frame are faster. */
function removeAll(selectors: readonly string[]): void {
  for (const element of document.querySelectorAll(selectors.join(','))) element.remove();
}

async function takeLane(): Promise<AsyncDisposable & Lane> {
  while (free.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
  const lane = free.pop()!; // there is one
  return {
    ...lane,
    async [Symbol.asyncDispose]() {
      free.push(lane);
      waiting.shift()?.();
    },
  };
}
