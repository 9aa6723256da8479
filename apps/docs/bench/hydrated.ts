import type { Page } from 'playwright-core';

/** Until scripts have taken over the page. */
export async function hydrated(page: Page): Promise<void> {
  await page.waitForFunction(() => document.documentElement.dataset['hasHydrated'] === 'true');
}
