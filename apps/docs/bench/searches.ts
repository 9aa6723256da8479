import type { Page } from 'playwright-core';
import { hydrated } from './hydrated.ts';
import { median } from '../../../bench/statistics.ts';
import { atMost, milliseconds, type Section } from '../../../bench/tables.ts';
import type { ServedSite } from './served.ts';

const rounds = 9;
const firstQuery = 'secrets';
const nextQueries = ['network isolation', 'kubernetes operator', 'instal'];

/**
 * How long a reader waits for what is found. Of the first search, from the modal that is shown, where the index begins to
 * be fetched, to the list; of others, from what is typed to the list.
 */
export async function searches(site: ServedSite): Promise<Section> {
  const first: number[] = [];
  const next: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await using reader = await site.newReader();
    const page = await reader.newPage();
    await page.goto('/toolhive/', { waitUntil: 'networkidle' });
    await hydrated(page);
    await page.evaluate(searchAsSoonAsPossible, firstQuery);
    await page.keyboard.press('Control+k');
    first.push(await tookMs(page));
    for (const query of nextQueries) {
      await page.evaluate(searchAsSoonAsPossible, query);
      next.push(await tookMs(page));
    }
  }
  return {
    title: 'Search',
    head: ['What', 'Time'],
    rows: [
      ['the first search, with the index, typed at once', atMost(median(first), 250, milliseconds)],
      ['every other', atMost(median(next), 50, milliseconds)],
    ],
  };
}

async function tookMs(page: Page): Promise<number> {
  const took = await page.waitForFunction(() => (globalThis as { searchTookMs?: number }).searchTookMs);
  // Readers see the results before they continue to type.
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        requestIdleCallback(resolve);
      }),
  );
  return (await took.jsonValue()) ?? Number.NaN;
}

/** In the page: types when there is a modal to type into, and notes when other things are found than before. */
function searchAsSoonAsPossible(query: string): void {
  const watched = globalThis as { searchTookMs?: number | undefined };
  const shown = (): string =>
    Array.from(document.querySelectorAll('.DocSearch-Hit'), ({ textContent }) => textContent).join('\n');
  watched.searchTookMs = undefined;
  const before = shown();
  let startedMs: number | undefined;
  const look = (): void => {
    const box = document.querySelector<HTMLInputElement>('.DocSearch-Input');
    if (box !== null && startedMs === undefined) {
      startedMs = performance.now();
      // As a key does it: the component hears of it after its own changes of the page.
      setTimeout(() => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(box, query);
        box.dispatchEvent(new Event('input', { bubbles: true }));
      });
    }
    const now = shown();
    if (startedMs === undefined || now === '' || now === before) return;
    watched.searchTookMs = performance.now() - startedMs;
    observer.disconnect();
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true, characterData: true });
  look();
}
