import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { settingsFrom } from '../site.ts';
import { useBrowser } from './browse.ts';

const visit = useBrowser({ isCached: true });

describe('the script that counts page views', () => {
  /** What is kept of the console from the script on. */
  const told = (page: Page): string[] => {
    const lines: string[] = [];
    page.on('console', (message) => {
      if (message.text().startsWith('analytics:')) lines.push(`${message.type()} ${message.text()}`);
    });
    return lines;
  };

  test('comes from this site, later than the page, and only the console hears when it does not', async () => {
    proves('site.analytics', 'site.message.analytics');
    let lines: string[] = [];
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      before: async (page) => void (lines = told(page)),
    });

    const script = visited.page.locator('script[src="/_analytics/script.js"]');

    expect(
      await script.evaluate((element: HTMLScriptElement) => [element.defer, element.dataset['sdkv']]),
    ).toEqual([true, '1.5.0']);
    await expect
      .poll(() => lines)
      .toEqual([expect.stringMatching(/^log .*enable web analytics for this project and deploy it again/)]);
  });

  test('says what it would count while the site is written, and what may keep it away then', async () => {
    proves('site.analytics', 'site.message.analytics');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    const lines = told(page);

    await page.evaluate(await scriptOf({ analytics: '/stats' }, 'development'));

    expect(await page.locator('script[src="/stats/script.debug.js"]').count()).toBe(1);
    await expect
      .poll(() => lines)
      .toEqual([expect.stringMatching(/^log .*check whether an ad blocker keeps it from loading/)]);
  });

  test('comes from the folder that is named, or from one of its own', () => {
    const folders = [undefined, '', '1', '/stats'].map(
      (value) => settingsFrom({ DOCS_ANALYTICS: value }).analytics,
    );

    expect(folders).toEqual([undefined, undefined, '/_analytics', '/stats']);
  });

  test('does not exist by default', async () => {
    await using visited = await visit('/toolhive/faq');

    expect(await visited.page.locator('script[src*="analytics"]').count()).toBe(0);
    expect(await visited.page.getByRole('button', { name: 'Feedback' }).count()).toBe(0);
  });

  /** The module of the pages that loads the script, as it is for these settings and this kind of build. */
  async function scriptOf(settings: object, mode: string): Promise<string> {
    const modules: Record<string, unknown> = {
      '@generated/docusaurus.config': { customFields: { settings } },
      '@docusaurus/ExecutionEnvironment': { canUseDOM: true },
    };
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL('../src/analytics.ts', import.meta.url))],
      bundle: true,
      write: false,
      define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
      plugins: [
        {
          name: 'given',
          setup(building) {
            building.onResolve({ filter: /^@/ }, ({ path }) => ({ path, namespace: 'given' }));
            building.onLoad({ filter: /./, namespace: 'given' }, ({ path }) => ({
              contents: JSON.stringify(modules[path]),
              loader: 'json',
            }));
          },
        },
      ],
    });
    return outputFiles[0]?.text ?? '';
  }
});

describe('the tag manager', () => {
  const requests = (urls: readonly string[]): string[] =>
    urls.filter((url) => url.includes('googletagmanager'));

  test('loads its container where one is named, which the policy of the pages allows', async () => {
    proves('site.tag-manager');
    await using visited = await visit('/toolhive/faq', { site: 'fullSite' });

    await expect
      .poll(() => requests(visited.foreign))
      .toEqual(['https://www.googletagmanager.com/gtm.js?id=GTM-TEST']);
    expect(visited.errors.filter((error) => error.includes('Content Security Policy'))).toEqual([]);
  });

  test('does not exist by default', async () => {
    await using visited = await visit('/toolhive/faq');

    expect(await visited.page.content()).not.toMatch(/googletagmanager|dataLayer/);
  });
});

test('a site with a search service connects to it ahead, and asks for this language and these versions only', async () => {
  proves('site.search.service');
  let asked: { requests: { facetFilters?: unknown }[] } | undefined;
  await using visited = await visit('/toolhive/faq', {
    site: 'fullSite',
    before: (page) =>
      page.route(/testapp.*algolia/, async (route) => {
        asked = route.request().postDataJSON() as typeof asked;
        await route.abort();
      }),
  });
  const { page } = visited;

  const ahead = await page
    .locator('link[rel="preconnect"]')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  await page.keyboard.press('Control+k');
  await page.getByRole('searchbox', { name: 'Search' }).fill('secrets');
  await expect.poll(() => asked).toBeDefined();

  expect(ahead).toContain('https://TESTAPP-dsn.algolia.net');
  expect(asked?.requests[0]?.facetFilters).toEqual([
    'language:en',
    ['docusaurus_tag:default', 'docusaurus_tag:docs-default-current'],
  ]);
});
