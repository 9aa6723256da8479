import type { Page } from 'playwright-core';
import { median } from '../../../bench/statistics.ts';
import { milliseconds } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld, storeWorkloads } from '../../../e2e/ui/world.ts';
import { launchBrowser } from './browser.ts';

const amount = 1_000;
const rounds = 3;
const maxMs = 100;
/** Event timing reports nothing that is faster. */
const shortestMs = 16;

/** What a person does, and then undoes. Only the first is measured. */
const actions: Record<
  string,
  { act: (page: Page) => Promise<unknown>; undo: (page: Page) => Promise<unknown> }
> = {
  'type into the filter': {
    async act(page) {
      await page.getByLabel('Filter servers').focus();
      await page.keyboard.type('server-7', { delay: 60 });
    },
    undo: (page) => page.getByLabel('Filter servers').fill(''),
  },
  'open the palette': {
    act: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').waitFor();
    },
    undo: (page) => page.keyboard.press('Escape'),
  },
  'select a row': {
    act: (page) => page.getByLabel('Select server-10', { exact: true }).click(),
    undo: (page) => page.getByRole('button', { name: 'Clear selection' }).click(),
  },
};

/** The time from an input to the next frame that the browser shows, with many workloads. */
export async function interactions(): Promise<Section['rows']> {
  await using world = await openWorld({ prepare: (user) => storeWorkloads(user, amount) });
  await using shared = await launchBrowser();
  const page = await shared.browser.newPage();
  await page.addInitScript((durationThreshold) => {
    const durations: number[] = [];
    Object.assign(globalThis, { durations });
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { interactionId: number })[])
        if (entry.interactionId > 0) durations.push(entry.duration);
    });
    observer.observe({ type: 'event', durationThreshold } as PerformanceObserverInit);
  }, shortestMs);
  await page.goto(`${world.base}/ui/`);
  await page.getByText('1,000 servers, 0 running').waitFor();
  const rows: Section['rows'][number][] = [];
  for (const [name, { act, undo }] of Object.entries(actions)) {
    const longest: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await page.evaluate(() => void (globalThis as unknown as { durations: number[] }).durations.splice(0));
      await act(page);
      longest.push(await longestOf(page));
      await undo(page);
      await page.getByText('1,000 servers, 0 running').waitFor();
      await longestOf(page);
    }
    const middle = median(longest);
    const text = `${milliseconds(middle)} of ${milliseconds(maxMs)} (longest ${milliseconds(Math.max(...longest))})`;
    rows.push([`With ${amount} workloads: ${name}`, { text, holds: middle <= maxMs }, '–']);
  }
  rows.push(await scrolled(page));
  return rows;
}

const maxTaskMs = 50;
const maxElements = 3_000;

/** The longest task of the page during scrolling through the whole list. */
async function scrolled(page: Page): Promise<Section['rows'][number]> {
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: 'longtask' });
  });
  await page.mouse.move(640, 500);
  const last = page.getByRole('link', { name: `server-${amount - 1}`, exact: true });
  while (!(await last.isVisible())) await page.mouse.wheel(0, 400);
  // Tasks of 50 ms or less are not reported.
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
  const longest = Math.max(0, ...tasks);
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  const text = `${milliseconds(longest)} of ${milliseconds(maxTaskMs)}, ${elements} of ${maxElements} elements`;
  const holds = longest <= maxTaskMs && elements <= maxElements;
  return [`With ${amount} workloads: scroll, longest task over ${maxTaskMs} ms`, { text, holds }, '–'];
}

/** The longest interaction until now. Waits until the browser has reported it. */
function longestOf(page: Page): Promise<number> {
  return page.evaluate(
    (least) =>
      new Promise<number>((resolve) => {
        const { durations } = globalThis as unknown as { durations: number[] };
        setTimeout(
          () => requestIdleCallback(() => resolve(Math.max(least, ...durations)), { timeout: 1_000 }),
          300,
        );
      }),
    shortestMs,
  );
}
