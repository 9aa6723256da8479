// @suite screenshots
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { saveData, useBrowser } from './browse.ts';
import { compare, reduce } from './pictures.ts';

const visit = useBrowser();

/** `npm run docs:snapshots` renews the pictures instead of comparing them. */
const isRenewed = process.env['DOCS_SNAPSHOTS'] === 'renew';
const kept = new URL('looks/', import.meta.url);
/** Of what fails, the picture as it is and what differs. */
const results = new URL('../../../test-results/looks/', import.meta.url);

const pages: Record<string, string> = {
  home: '/',
  start: '/toolhive/',
  tutorial: '/toolhive/tutorials/quickstart-cli',
  guide: '/toolhive/guides-cli/run-mcp-servers',
  diagrams: '/toolhive/concepts/mcp-primer',
  server: '/toolhive/guides-mcp/filesystem',
  command: '/toolhive/reference/cli/thv_list',
  api: '/toolhive/reference/api',
  clients: '/toolhive/reference/client-compatibility',
  search: '/search?q=secrets',
  preview: '/theme-preview',
  missing: '/nothing-here',
};
const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];
const modes = ['dark', 'light'] as const;

/** How long a page may take until it looks as it did. */
const settleMs = 10_000;
/** How long a picture may take. All pages are opened at the same time. */
const paintMs = 80_000;

/** A thousandth of a page is a button that is gone, or a line that moved. */
const toleratedShare = 0.001;

/**
 * Authors of pages need not make pictures: a page whose words are others than in its pictures is not compared. What
 * keeps that from going too far: most have to be.
 */
const fewestCompared = Math.ceil(Object.keys(pages).length * sizes.length * (2 / 3));
/** A page at one size, which decides which menus it has. */
const viewOf = (name: string, { width }: { width: number }): string => `${name}-${width}`;
const wordsFile = new URL('words.json', kept);
let words: Record<string, string> = {};
const now: Record<string, string> = {};

beforeAll(async () => {
  await rm(results, { recursive: true, force: true });
  await mkdir(results, { recursive: true });
  await mkdir(kept, { recursive: true });
  if (!isRenewed) words = JSON.parse(await readFile(wordsFile, 'utf8')) as Record<string, string>;
});
afterAll(async () => {
  const sorted = Object.fromEntries(
    Object.entries(now).toSorted(([one], [other]) => one.localeCompare(other)),
  );
  if (isRenewed) await writeFile(wordsFile, `${JSON.stringify(sorted, null, 2)}\n`);
});

// Side by side: a page that waits for its pictures leaves the processor to another.
describe.concurrent.for(Object.entries(pages))('the page “%s”', ([name, path]) => {
  test.for(sizes)('looks as it did at a width of $width, in both modes', async (viewport) => {
    await using visited = await visit(path, { viewport, before: holdStill });
    const { page } = visited;
    page.setDefaultTimeout(paintMs);
    const view = viewOf(name, viewport);
    now[view] = await wordsOf(page);

    const different: string[] = [];
    for (const mode of modes) {
      const picture = `${view}-${mode}.png`;
      await page.emulateMedia({ colorScheme: mode, reducedMotion: 'reduce' });
      await page.waitForSelector(`html[data-theme="${mode}"]`);
      if (!(await looksAsBefore(page, picture, isRenewed || words[view] !== now[view])))
        different.push(picture);
    }

    expect(different).toEqual([]);
  });
});

test('most pages have the words that are in their pictures; when they have not: npm run docs:snapshots', () => {
  const views = Object.keys(pages).flatMap((name) => sizes.map((size) => viewOf(name, size)));
  const compared = views.filter((view) => isRenewed || words[view] === now[view]);

  expect(compared.length).toBeGreaterThanOrEqual(fewestCompared);
});

async function looksAsBefore(page: Page, name: string, isOther: boolean): Promise<boolean> {
  const shoot = (): Promise<Buffer> => page.screenshot({ animations: 'disabled', timeout: paintMs });
  let shown = await shoot();
  if (isRenewed) await writeFile(new URL(name, kept), reduce(shown));
  if (isOther) return true;
  const before = await readFile(new URL(name, kept));
  let { share, picture } = compare(before, shown);
  // A busy machine paints late.
  for (const end = Date.now() + settleMs; share > toleratedShare && Date.now() < end;) {
    await page.waitForTimeout(500);
    shown = await shoot();
    ({ share, picture } = compare(before, shown));
  }
  if (share <= toleratedShare) return true;
  await writeFile(new URL(name.replace('.png', '-now.png'), results), shown);
  await writeFile(new URL(name.replace('.png', '-difference.png'), results), picture());
  return false;
}

/** What a page says, wherever it stands and however it looks. */
async function wordsOf(page: Page): Promise<string> {
  await page.evaluate(() => document.fonts.ready);
  // Pictures further down are loaded when the reader scrolls.
  await page.waitForFunction(() =>
    [...document.images].every((one) => one.complete || one.loading === 'lazy'),
  );
  await page.waitForFunction(() => !document.body.textContent.includes('Searching…'));
  const text = await page.evaluate(() => {
    const copy = document.body.cloneNode(true) as HTMLElement; // as the page is one
    for (const one of copy.querySelectorAll('script, style')) one.remove();
    return (copy.textContent ?? '').replaceAll(/\s+/g, ' ');
  });
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Dates are always the same, and nothing is fetched ahead. */
async function holdStill(page: Page): Promise<void> {
  page.setDefaultTimeout(30_000); // a picture waits for fonts, pictures and whatever else the machine does
  await page.clock.setFixedTime('2026-01-01T12:00:00Z');
  await saveData(page);
}
