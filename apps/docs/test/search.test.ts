// @suite docs (in depth)
import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { useBrowser } from './browse.ts';
import { faults } from './faults.ts';

const visit = useBrowser({ isCached: true });

const index = '**/search-index.json';
const service = /^https:\/\/testapp[^/]*\.algolia(net)?\.(net|com)\//;

/** The modal as a selector, for checks of only this part of the page. */
const inModal = { within: '.DocSearch-Container' };
const modal = (page: Page): ReturnType<Page['getByRole']> =>
  page.getByRole('dialog', { name: 'Search the documentation' });
const box = (page: Page): ReturnType<Page['getByRole']> =>
  modal(page).getByRole('searchbox', { name: 'Search' });

async function open(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await box(page).waitFor();
}

/** Until the modal is gone, and the page has taken notice. */
async function closed(page: Page): Promise<void> {
  await modal(page).waitFor({ state: 'detached' });
  await page.waitForFunction(() => !document.body.classList.contains('DocSearch--active'));
}

/** Types into the open modal, and waits for what comes of it. */
async function search(page: Page, query: string): Promise<void> {
  await box(page).fill(query);
  await page
    .getByRole('status')
    .filter({ hasText: /result|Nothing/ })
    .waitFor({ state: 'attached' });
  await modal(page).locator('.DocSearch-Hit, .DocSearch-NoResults').first().waitFor();
}

const searchButton = (page: Page): ReturnType<Page['getByRole']> =>
  page.getByRole('button', { name: 'Search' });

test('the search opens by click, tap, key on its button, Ctrl+K, Cmd+K and slash, ready to be typed into', async () => {
  proves('site.search.opening');
  await using visited = await visit('/toolhive/', { hasTouch: true });
  const { page, errors, foreign } = visited;
  const ways: Record<string, () => Promise<unknown>> = {
    click: () => searchButton(page).click(),
    tap: () => searchButton(page).tap(),
    Enter: () => searchButton(page).press('Enter'),
    space: () => searchButton(page).press('Space'),
    'Ctrl+K': () => page.keyboard.press('Control+k'),
    'Cmd+K': () => page.keyboard.press('Meta+k'),
    slash: () => page.keyboard.press('/'),
  };

  for (const way of Object.values(ways)) {
    await way();

    await page.waitForFunction(() => document.activeElement?.className === 'DocSearch-Input');
    expect(await box(page).inputValue()).toBe('');
    await page.keyboard.press('Escape');
    await closed(page);
  }
  expect([errors, foreign]).toStrictEqual([[], []]);
});

test('nothing blurs the page behind it, which would be painted again with every change', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);

  const found = await page.evaluate(() =>
    [...document.querySelectorAll('*')].flatMap((element) =>
      [null, '::before', '::after']
        .filter((part) => getComputedStyle(element, part).backdropFilter !== 'none')
        .map((part) => `${element.className}${part ?? ''}`),
    ),
  );

  expect(found).toEqual([]);
});

test.for<[string, (page: Page) => Promise<unknown>]>([
  ['the pointer above it', (page) => searchButton(page).hover()],
  ['the focus on it', (page) => searchButton(page).focus()],
  ['a finger on it', (page) => searchButton(page).dispatchEvent('touchstart')],
])('the script of the search is fetched by %s, and not before', async ([, act]) => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await page.waitForLoadState('networkidle');
  const fetched = (): Promise<string[]> =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  const before = await fetched();
  const asked = page.waitForRequest((request) => request.resourceType() === 'script');

  await act(page);

  expect(before).not.toContain((await asked).url());
  expect(await fetched()).not.toContain(`${new URL(page.url()).origin}/search-index.json`);
  expect(await modal(page).count()).toBe(0);
});

test('a slash that is typed somewhere is only typed', async () => {
  await using visited = await visit('/search');
  const { page } = visited;
  const field = page.getByRole('searchbox', { name: 'Search' });

  await field.press('/');

  expect(await field.inputValue()).toBe('/');
  expect(await modal(page).count()).toBe(0);
});

test('the search closes by Escape, cancelling, Ctrl+K and a click beside it, and the focus is back on its button', async () => {
  proves('site.search.opening');
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  const ways: Record<string, () => Promise<unknown>> = {
    Escape: () => page.keyboard.press('Escape'),
    cancel: () => modal(page).getByRole('button', { name: 'Cancel' }).click(),
    'Ctrl+K': () => page.keyboard.press('Control+k'),
    beside: () => page.mouse.click(5, 300),
  };

  for (const way of Object.values(ways)) {
    await open(page);
    await way();

    await closed(page);
    await page.waitForFunction(() => document.activeElement?.matches('.DocSearch-Button'));
    expect(await modal(page).count()).toBe(0);
  }
});

test('typing letter by letter counts what is found for the whole, and leads to all of it', async () => {
  proves('site.search.page');
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await box(page).pressSequentially('network isolation', { delay: 30 });
  const link = modal(page).getByRole('link', { name: /^See all \d+ results$/ });
  await page
    .getByRole('status')
    .filter({ hasText: /\d+ results/ })
    .waitFor({ state: 'attached' });
  const told = (await page.getByRole('status').filter({ hasText: 'results' }).innerText()).trim();
  await page.waitForFunction(
    (count) => document.querySelector('.DocSearch-HitsFooter')?.textContent === `See all ${count}`,
    told,
  );

  await link.click();

  await page.waitForURL('**/search?q=network%20isolation');
  await page.getByText(told.replace('results', 'documents found')).waitFor();
  expect(await modal(page).count()).toBe(0);
});

test('Enter opens the best result, and the key above it asks', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await search(page, 'thvignore');
  const chosen = modal(page).getByRole('treeitem', { selected: true });
  await chosen.filter({ hasNotText: 'Quote passages' }).waitFor();
  await page.keyboard.press('ArrowUp');
  await chosen.filter({ hasText: 'Quote passages about: thvignore' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await chosen.filter({ hasNotText: 'Quote passages' }).waitFor();

  await page.keyboard.press('Enter');

  await page.waitForURL(/\/toolhive\/.*thvignore/);
  await closed(page);
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
});

test.each([
  ['index', index],
  ['script', '**/search-worker*.js'],
])('says when the %s cannot be fetched, and searches again as soon as it can', async (_, missing) => {
  proves('site.message.search-failure');
  await using visited = await visit('/toolhive/', {
    before: (page) => page.route(missing, (route) => route.abort()),
  });
  const { page } = visited;
  await open(page);

  await box(page).fill('secrets');

  const alert = modal(page).getByRole('alert');
  await alert.filter({ hasText: 'Unable to fetch results' }).waitFor();
  expect(await alert.innerText()).toContain('You might want to check your network connection.');
  expect(await modal(page).getByText('No results found for').isVisible()).toBe(false);

  await page.unroute(missing);
  await search(page, 'secret');

  await alert.waitFor({ state: 'detached' });
  expect(await modal(page).getByRole('treeitem').count()).toBeGreaterThan(1);
});

test('suggests searches that find something when nothing is found, and lets the reader tell', async () => {
  proves('site.message.no-results');
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);

  await search(page, 'qqqqzzzz');

  const text = await modal(page).locator('.DocSearch-NoResults').innerText();
  expect(text).toContain('No results found for "qqqqzzzz"');
  expect(text).toContain('Try searching for');
  expect(text).toContain('Believe this query should return results? Let us know.');
  const link = modal(page).getByRole('link', { name: 'Let us know.' });
  expect(await link.getAttribute('href')).toMatch(/\/issues\/new\?title=.*qqqqzzzz$/);
  await modal(page).getByRole('button', { name: 'Quickstart' }).click();
  await modal(page).getByRole('treeitem').filter({ hasText: 'quickstart' }).first().waitFor();
  expect(await box(page).inputValue()).toBe('Quickstart');
});

test('answers a question with passages of the pages; Escape goes back to keywords, then closes', async () => {
  proves('site.search.escape');
  await using visited = await visit('/toolhive/');
  const { page, foreign, errors } = visited;
  await open(page);
  await search(page, 'where are secrets kept?');
  await modal(page).getByRole('treeitem').filter({ hasText: 'Quote passages' }).click();

  const passages = modal(page).getByRole('region', { name: 'where are secrets kept?' });
  await passages.getByRole('blockquote').first().waitFor();
  expect(await modal(page).innerText()).toContain('No model writes here');
  const [quote] = await passages.getByRole('blockquote').allInnerTexts();
  const href = await passages.getByRole('link').first().getAttribute('href');
  await page.keyboard.press('Escape');
  await passages.waitFor({ state: 'detached' });
  expect(await box(page).isVisible()).toBe(true);
  await page.keyboard.press('Escape');
  await closed(page);
  await page.goto(href ?? '');

  const body = (await page.locator('main').innerText()).replaceAll(/\s+/g, '');
  expect(body).toContain(quote?.replaceAll(/\s+|…$/g, ''));
  expect([foreign, errors]).toStrictEqual([[], []]);
});

test('takes question after question, says when no passage fits, and goes back by its button too', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await search(page, 'secrets');
  await modal(page).getByRole('treeitem').filter({ hasText: 'Quote passages' }).click();
  await modal(page).getByRole('blockquote').first().waitFor();

  await box(page).fill('xylophones qqqq');
  await box(page).press('Enter');
  await modal(page).getByText('No passage of this documentation has any of these words.').waitFor();
  await modal(page).getByRole('button', { name: 'Back to keyword search' }).click();

  await modal(page).getByRole('blockquote').first().waitFor({ state: 'detached' });
  await box(page).fill('registry');
  const found = modal(page).getByRole('treeitem').filter({ hasText: 'registry' });
  await found.nth(1).waitFor();
  expect(await found.count()).toBeGreaterThan(1);
});

test('a question that nothing can be fetched for says so', async () => {
  await using visited = await visit('/toolhive/', {
    before: (page) => page.route(index, (route) => route.abort()),
  });
  const { page } = visited;
  await open(page);
  await box(page).fill('secrets');
  await modal(page).getByRole('alert').waitFor();

  await page.keyboard.press('Enter');

  const region = modal(page).getByRole('region', { name: 'secrets' });
  await region.getByText('Unable to fetch results').waitFor();
  expect(await region.getByRole('blockquote').count()).toBe(0);
});

test('the Tab key goes through all that was found, and never leaves the modal', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await search(page, 'thvignore');
  await modal(page)
    .getByRole('link', { name: /^See all/ })
    .waitFor();

  const stops: string[] = [];
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    stops.push(
      await page.evaluate(() => {
        const at = document.activeElement;
        if (at?.closest('[role="dialog"]') === null) return 'outside';
        return at?.className === 'DocSearch-Input' ? 'box' : (at?.textContent ?? '');
      }),
    );
  }

  expect(stops).not.toContain('outside');
  expect(stops.some((stop) => stop.startsWith('See all'))).toBe(true);
  expect(stops.filter((stop) => stop === 'box').length).toBeGreaterThanOrEqual(1);
  await page.keyboard.press('Shift+Tab');
  expect(await page.evaluate(() => document.activeElement?.closest('[role="dialog"]') !== null)).toBe(true);
});

test('the open search is accessible: empty, with results, without', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);

  const empty = await faults(page, inModal);
  await search(page, 'secrets');
  const found = await faults(page, inModal);
  await search(page, 'qqqqzzzz');
  await modal(page).locator('.DocSearch-NoResults').waitFor();
  const without = await faults(page, inModal);

  expect([empty, found, without]).toStrictEqual([[], [], []]);
});

test('passages and recent searches are accessible', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await search(page, 'secrets');
  await modal(page).getByRole('treeitem').filter({ hasText: 'Quote passages' }).click();
  await modal(page).getByRole('blockquote').first().waitFor();
  const inPassages = await faults(page, inModal);
  await page.keyboard.press('Escape');
  await search(page, 'thvignore');
  await page.keyboard.press('Enter');
  await closed(page);
  await page.waitForURL(/thvignore/); // what is opened on the way there is closed again
  // And the sidebar, which is too small to be pressed while it unfolds, does that when the page is drawn.
  const { pathname } = new URL(page.url());
  await page.locator(`.menu__link[aria-current="page"][href="${pathname}"]`).waitFor();
  await open(page);
  await modal(page).getByRole('tree', { name: 'Recent' }).waitFor();

  const inRecent = await faults(page, inModal);

  expect([inPassages, inRecent]).toStrictEqual([[], []]);
});

test('remembers what was opened, and forgets it on demand', async () => {
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await open(page);
  await search(page, 'thvignore');
  await page.keyboard.press('Enter');
  await closed(page);
  await page.reload();
  await page.waitForFunction(() => document.documentElement.dataset['hasHydrated'] === 'true');
  await open(page);
  const recent = modal(page).getByRole('tree', { name: 'Recent' }).getByRole('treeitem');
  await recent.waitFor();

  await recent.getByRole('button', { name: 'Remove this search from history' }).click();

  await recent.waitFor({ state: 'detached' });
  expect(await page.evaluate(() => localStorage.getItem('__DOCSEARCH_RECENT_SEARCHES__docs'))).toBe('[]');
});

test('searches and remembers nothing where there is no storage', async () => {
  await using visited = await visit('/toolhive/', {
    before: (page) =>
      page.addInitScript(() => {
        for (const name of ['localStorage', 'sessionStorage'])
          Object.defineProperty(globalThis, name, {
            configurable: true,
            get() {
              throw new DOMException('refused', 'SecurityError');
            },
          });
      }),
  });
  const { page } = visited;
  await open(page);
  await search(page, 'thvignore');

  await page.keyboard.press('Enter');

  await page.waitForURL(/thvignore/);
  expect(await page.getByText('This page crashed').count()).toBe(0);
});

test('the search page shows what is found for the query in its address, and keeps the address up to date', async () => {
  proves('site.search.page');
  await using visited = await visit('/search?q=secrets');
  const { page, errors, foreign } = visited;
  const status = page.getByRole('main').getByRole('status');
  await status.filter({ hasText: /^\d+ documents found$/ }).waitFor();
  const first = page.getByRole('main').getByRole('heading', { level: 2 }).first();
  expect(await first.locator('mark').count()).toBeGreaterThan(0);
  expect(await page.title()).toContain('Search results for “secrets”');

  await page.getByRole('searchbox', { name: 'Search' }).fill('thvignore');

  await page.waitForURL('**/search?q=thvignore');
  await first.filter({ hasText: 'ignore' }).waitFor();
  await first.getByRole('link').click();
  await page.waitForURL(/\/toolhive\//);
  expect([errors, foreign]).toStrictEqual([[], []]);
});

test('the search page shows more on demand, each result once', async () => {
  await using visited = await visit('/search?q=server');
  const { page } = visited;
  const results = page.getByRole('main').getByRole('article');
  await results.nth(14).waitFor();

  await page.getByRole('button', { name: 'Show more results' }).click();

  await results.nth(29).waitFor();
  const links = await results
    .getByRole('link')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  expect(new Set(links).size).toBe(30);
});

test('the search page shows all that was asked for, however quickly', async () => {
  await using visited = await visit('/search?q=server');
  const { page } = visited;
  const results = page.getByRole('main').getByRole('article');
  await results.nth(14).waitFor();

  await page.getByRole('button', { name: 'Show more results' }).dblclick();

  await results.nth(44).waitFor();
  const links = await results
    .getByRole('link')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  expect(new Set(links).size).toBe(45);
});

test('the search page asks for all that it needs before any of it runs', async () => {
  const held = Promise.withResolvers<void>();
  await using visited = await visit('/toolhive/');
  const { page } = visited;
  await page.route('**/assets/js/main.*.js', async (route) => {
    await held.promise;
    await route.continue();
  });
  const own = [/search-worker/, /search-index/, /assets\/js\/(?!main|runtime|search)/].map((name) =>
    page.waitForRequest((request) => name.test(request.url())),
  );

  const arrived = page.goto('/search?q=secrets');
  await Promise.all(own);
  expect(await page.getByText(/documents found$/).count()).toBe(0);
  held.resolve();
  await arrived;

  await page.getByText(/documents found$/).waitFor();
});

test('nothing is fetched ahead while the reader waits for what is found', async () => {
  const held = Promise.withResolvers<void>();
  await using visited = await visit('/search?q=secrets', {
    fetchesAhead: true,
    before: (page) =>
      page.route(index, async (route) => {
        await held.promise;
        await route.continue();
      }),
  });
  const { page } = visited;
  const ahead = page.locator('head > link[rel="prefetch"]');
  await page.getByText('Searching…').waitFor();
  await page.evaluate(async () => {
    for (let turns = 0; turns < 5; turns += 1)
      await new Promise((resolve) => {
        requestIdleCallback(resolve);
      });
  });
  expect(await ahead.count()).toBe(0);

  held.resolve();

  await page.getByText(/documents found$/).waitFor();
  await ahead.first().waitFor({ state: 'attached' });
});

test('the search page says when nothing is found, and when nothing can be fetched', async () => {
  await using visited = await visit('/search?q=qqqqzzzz');
  const { page } = visited;
  await page.getByText('No results were found').waitFor();
  await page.route(index, (route) => route.abort());

  await page.goto('/search?q=secrets');

  await page.getByRole('alert').filter({ hasText: 'Unable to fetch results' }).waitFor();
  expect(await page.getByRole('alert').innerText()).toContain(
    'You might want to check your network connection.',
  );
  expect(await page.getByText('Searching…').count()).toBe(0);
});

test('the search page is accessible: empty, with results, without', async () => {
  await using visited = await visit('/search');
  const { page } = visited;
  const field = page.getByRole('searchbox', { name: 'Search' });

  const empty = await faults(page, { within: 'main' });
  await field.fill('secrets');
  await page.getByText(/documents found$/).waitFor();
  const found = await faults(page, { within: 'main' });
  await field.fill('qqqqzzzz');
  await page.getByText('No results were found').waitFor();
  const without = await faults(page, { within: 'main' });

  expect([empty, found, without]).toStrictEqual([[], [], []]);
});

test('no page makes a connection ahead to a service that is not used', async () => {
  await using visited = await visit('/toolhive/');

  expect(await visited.page.locator('link[rel="preconnect"]').count()).toBe(0);
});

/** Answers as the service does, for any query but one. */
async function serviceAnswers(route: Route): Promise<void> {
  const { requests } = route.request().postDataJSON() as { requests: { query: string }[] };
  const hit = {
    objectID: '1',
    type: 'lvl1',
    url: 'https://docs.toolhive.example/toolhive/faq#from-the-service',
    anchor: 'from-the-service',
    content: null,
    hierarchy: { lvl0: 'Service', lvl1: 'Found by the service', lvl2: null },
    _highlightResult: {
      hierarchy: { lvl0: { value: 'Service' }, lvl1: { value: 'Found by the <mark>service</mark>' } },
    },
    _snippetResult: { hierarchy: { lvl1: { value: 'Found by the <mark>service</mark>' } } },
  };
  const results = requests.map(({ query }) => ({
    hits: query === 'nothing' ? [] : [hit],
    nbHits: query === 'nothing' ? 0 : 1,
    page: 0,
    nbPages: 1,
    hitsPerPage: 20,
    query,
    index: 'docs',
  }));
  await route.fulfill({ json: { results }, headers: { 'access-control-allow-origin': '*' } });
}

test('a site with a service asks that, in the modal and on the search page, and offers its assistant', async () => {
  await using visited = await visit('/toolhive/', {
    site: 'fullSite',
    before: (page) => page.route(service, serviceAnswers),
  });
  const { page, foreign } = visited;
  await open(page);
  await box(page).fill('service');
  await modal(page).getByRole('treeitem').filter({ hasText: 'Found by the service' }).waitFor();
  expect(await modal(page).getByRole('treeitem').filter({ hasText: 'Ask AI: ' }).count()).toBe(1);
  expect(await modal(page).getByRole('link', { name: 'See all 1 results' }).count()).toBe(1);

  await modal(page).getByRole('link', { name: 'See all 1 results' }).click();

  await page.waitForURL('**/search?q=service');
  await page.getByRole('link', { name: 'Found by the service' }).click();
  await page.waitForURL('**/toolhive/faq#from-the-service');
  expect(foreign.filter((url) => !service.test(url) && !url.includes('googletagmanager'))).toStrictEqual([]);
});

test('a site with a service says when that cannot be reached, in the modal and on the search page', async () => {
  await using visited = await visit('/toolhive/', {
    site: 'fullSite',
    before: (page) => page.route(service, (route) => route.abort()),
  });
  const { page } = visited;
  await open(page);
  await box(page).fill('service');
  await modal(page).getByRole('alert').filter({ hasText: 'Unable to fetch results' }).waitFor();

  await page.goto('/search?q=service');

  await page.getByRole('alert').filter({ hasText: 'Unable to fetch results' }).waitFor();
  expect(await page.getByText('No results were found').count()).toBe(0);
});

test('what the search page has found stays when more of it cannot be had', async () => {
  await using visited = await visit('/search?q=service', {
    site: 'fullSite',
    before: (page) => page.route(service, serviceAnswersOnce()),
  });
  const { page } = visited;
  const results = page.getByRole('main').getByRole('article');
  await results.nth(14).waitFor();

  await page.getByRole('button', { name: 'Show more results' }).click();

  await page.getByRole('alert').filter({ hasText: 'Unable to fetch results' }).waitFor();
  expect(await results.count()).toBe(15);
});

/** Answers the first question as a service does that knows more than is asked for, and no other. */
function serviceAnswersOnce(): (route: Route) => Promise<void> {
  let isAnswered = false;
  return async (route) => {
    if (isAnswered) return route.abort();
    isAnswered = true;
    const { requests } = route.request().postDataJSON() as { requests: { hitsPerPage: number }[] };
    const results = requests.map(({ hitsPerPage }) => ({
      hits: Array.from({ length: hitsPerPage }, (_, index) => ({
        url: `https://docs.toolhive.example/toolhive/faq#${index}`,
      })),
      nbHits: 40,
    }));
    await route.fulfill({ json: { results }, headers: { 'access-control-allow-origin': '*' } });
  };
}

test('Escape leaves the assistant of a service for keywords first, then closes', async () => {
  proves('site.search.escape');
  await using visited = await visit('/toolhive/', {
    site: 'fullSite',
    before: async (page) => {
      await page.route(service, serviceAnswers);
      await page.route('https://askai.algolia.com/**', (route) => route.abort());
    },
  });
  const { page } = visited;
  await open(page);
  await box(page).fill('service');
  await modal(page).getByRole('treeitem').filter({ hasText: 'Ask AI: ' }).click();
  await modal(page).getByRole('button', { name: 'Back to keyword search' }).waitFor();

  await page.keyboard.press('Escape');

  await modal(page).getByRole('button', { name: 'Back to keyword search' }).waitFor({ state: 'detached' });
  expect(await box(page).isVisible()).toBe(true);
  await page.keyboard.press('Escape');
  await closed(page);
});
