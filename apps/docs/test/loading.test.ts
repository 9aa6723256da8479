// @suite docs (in depth)
import type { Page, Route } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { hydrated } from '../bench/hydrated.ts';
import { useBrowser } from './browse.ts';

const visitCached = useBrowser({ isCached: true });
/** As a reader whose browser fetches pages ahead. */
const visit: typeof visitCached = (path, options) => visitCached(path, { fetchesAhead: true, ...options });

/** The way from the answers to the introduction, without reloading the page. */
const toIntroduction = (page: Page) =>
  page.locator('.theme-doc-sidebar-container').getByRole('link', { name: 'Introduction' });

/** Whether this is still the document that was opened first. */
const mark = (page: Page): Promise<void> =>
  page.evaluate(() => void ((globalThis as { kept?: boolean }).kept = true));
const isKept = (page: Page): Promise<boolean> =>
  page.evaluate(() => (globalThis as { kept?: boolean }).kept === true);

/** Goes to another address of the same page, as the browser's own buttons do, and waits until the page has drawn. */
async function goTo(page: Page, address: string): Promise<void> {
  await page.evaluate(async (to) => {
    history.pushState({}, '', location.pathname + to);
    dispatchEvent(new PopStateEvent('popstate', { state: {} }));
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  }, address);
}

describe('going from page to page', () => {
  test('changes the page without reloading the site, and begins at the top', async () => {
    proves('site.scrolling');
    await using visited = await visit('/toolhive/faq', { viewport: { width: 1200, height: 400 } });
    const { page } = visited;
    await mark(page);
    await page.mouse.wheel(0, 500);
    await page.waitForFunction(() => scrollY > 100);

    await toIntroduction(page).click();
    await page.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();

    expect([await isKept(page), await page.evaluate(() => scrollY)]).toEqual([true, 0]);
  });

  test('goes to the place on the page that the address names', async () => {
    await using visited = await visit('/toolhive/', { viewport: { width: 1200, height: 400 } });
    const { page } = visited;

    await page.goto('/toolhive/faq#where-are-my-secrets-stored');
    await hydrated(page);
    await page.waitForFunction(() => scrollY > 100);
    const top = await page
      .locator('#where-are-my-secrets-stored')
      .evaluate((heading) => heading.getBoundingClientRect().top);

    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(150);
  });

  test('goes to the place that a link names, and stays where it is when only the query is another', async () => {
    proves('site.scrolling');
    await using visited = await visit('/toolhive/guides-mcp/fetch', {
      viewport: { width: 1200, height: 400 },
    });
    const { page } = visited;
    const scrolled = (): Promise<number> => page.evaluate(() => scrollY);
    await mark(page);

    await page.locator('article a[href$="/network-isolation#runtimes"]').first().click();
    await page.waitForURL('**/network-isolation#runtimes');
    await page.waitForFunction(() => scrollY > 100);
    const top = await page.locator('#runtimes').evaluate((heading) => heading.getBoundingClientRect().top);
    await page.evaluate(() => scrollTo(0, 150));
    await goTo(page, '?only=the-query#runtimes');
    const afterQuery = await scrolled();
    await goTo(page, '?only=the-query');

    expect([await isKept(page), top >= 0, top < 150]).toEqual([true, true, true]);
    expect([afterQuery, await scrolled()]).toEqual([150, 0]);
  });

  test('shows a bar when it takes longer than 200 ms, without a spinner, until it is done', async () => {
    proves('site.progress');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    const { promise: waiting, resolve: goOn } = Promise.withResolvers<void>();
    await page.route('**/assets/js/*.js', async (route) => {
      await waiting;
      await route.continue();
    });
    const began = await page.evaluate(() => performance.now());
    await page.evaluate(() => {
      new MutationObserver(() => {
        const now = document.querySelector('#nprogress') ? performance.now() : undefined;
        (globalThis as { shown?: number }).shown ??= now as number;
      }).observe(document.documentElement, { childList: true, subtree: true });
    });

    await page.locator('.theme-doc-sidebar-container').getByRole('link', { name: 'Quickstart: CLI' }).click();
    await page.locator('#nprogress .bar').waitFor({ state: 'attached' });
    const shown = (await page.evaluate(() => (globalThis as { shown?: number }).shown)) ?? 0;
    const spinners = await page.locator('#nprogress .spinner').count();
    goOn();
    await page.locator('#nprogress').waitFor({ state: 'detached' });

    expect(shown - began).toBeGreaterThan(200);
    expect(spinners).toBe(0);
  });

  test('shows no bar for another place on the same page', async () => {
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    const bars = watchBar(page);

    await goTo(page, '#where-are-my-secrets-stored');
    await page.waitForTimeout(300); // longer than a bar would wait

    expect(await bars()).toEqual([]);
  });

  test('moves the bar from 8 % in steps of at most 2 %, one in 800 ms, each within 200 ms', async () => {
    proves('site.progress');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    await page.route('**/assets/js/*.js', () => new Promise(() => {})); // never answered
    const bars = watchBar(page);

    await toIntroduction(page).click();
    await expect.poll(async () => (await bars()).length).toBeGreaterThanOrEqual(3);
    const [first, second, third] = (await bars()) as [Bar, Bar, Bar];

    expect([first.percent, first.transition]).toEqual([8, '200ms']);
    for (const [earlier, later] of [
      [first, second],
      [second, third],
    ] as const) {
      expect(later.percent - earlier.percent).toBeGreaterThanOrEqual(0);
      expect(later.percent - earlier.percent).toBeLessThanOrEqual(2.001);
    }
    expect(third.at - second.at).toBeGreaterThanOrEqual(780);
  });

  test('reloads the site when a part of the next page is missing', async () => {
    proves('site.preload-failure');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    await mark(page);
    await page.route('**/assets/js/*.js', (route) => route.abort());

    await page.locator('.theme-doc-sidebar-container').getByRole('link', { name: 'Quickstart: CLI' }).click();
    await page.waitForURL('**/toolhive/tutorials/quickstart-cli');

    await expect.poll(() => isKept(page)).toBe(false);
  });

  test.for(['/toolhive/faq.html', '/toolhive/faq/index.html'])(
    'knows %s by its proper name',
    async (path) => {
      proves('site.addresses');
      await using visited = await visit('/toolhive/');
      const { page } = visited;
      await serveAsMissing(page, path);

      await page.goto(path);
      await hydrated(page);

      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Frequently asked questions');
    },
  );

  test('says that there is no page where there is none', async () => {
    proves('site.not-found');
    await using visited = await visit('/toolhive/nothing');

    const answer = await visited.page.request.get('/toolhive/nothing');

    expect(answer.status()).toBe(404);
    expect(await visited.page.getByRole('heading', { level: 1 }).textContent()).toBe('Page not found');
  });
});

/** The bar of progress, each time that it is moved. */
interface Bar {
  /** How much of its way it has gone. */
  percent: number;
  transition: string;
  at: number;
}

/** Watches the bar of progress; the function tells how it has moved up to now. */
function watchBar(page: Page): () => Promise<Bar[]> {
  const watching = page.evaluate(() => {
    const bars: Bar[] = [];
    (globalThis as { bars?: Bar[] }).bars = bars;
    new MutationObserver(() => {
      const style = document.querySelector<HTMLElement>('#nprogress .bar')?.style;
      const percent = 100 + Number(/(-?[\d.]+)%/.exec(style?.transform ?? '')?.[1]);
      if (style === undefined || Number.isNaN(percent) || bars.at(-1)?.percent === percent) return;
      bars.push({ percent, transition: style.transitionDuration, at: performance.now() });
    }).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ['style'] });
  });
  return async () => {
    await watching;
    return page.evaluate(() => (globalThis as { bars?: Bar[] }).bars ?? []);
  };
}

describe('loading pages before they are asked for', () => {
  const withConnection = (connection: object) => (page: Page) =>
    page.addInitScript((value) => {
      Object.defineProperty(navigator, 'connection', { get: () => value });
    }, connection);
  const prefetched = (page: Page): Promise<number> => page.locator('link[rel="prefetch"]').count();

  test('is done', async () => {
    proves('site.prefetch');
    await using visited = await visit('/toolhive/faq');

    await expect.poll(() => prefetched(visited.page)).toBeGreaterThan(0);
  });

  test.for([{ saveData: true }, { effectiveType: '2g' }, { effectiveType: 'slow-2g' }])(
    'is left out where data is dear: %o',
    async (connection) => {
      proves('site.prefetch');
      await using visited = await visit('/toolhive/faq', { before: withConnection(connection) });
      const { page } = visited;

      await page.mouse.wheel(0, 300);
      await page.waitForFunction(() => scrollY > 100);

      expect(await prefetched(page)).toBe(0);
    },
  );
});

/** Answers for a path with the page of what is missing, as hosts do that know pages by one name only. */
async function serveAsMissing(page: Page, path: string): Promise<void> {
  const body = await (await page.request.get('/404.html')).text();
  await page.route(`**${path}`, (route) => route.fulfill({ body, contentType: 'text/html' }));
}

describe('what goes wrong', () => {
  test('is told when the site stands at another address than it was built for', async () => {
    proves('site.message.base-url');
    await using visited = await visit('/toolhive/');
    const { page } = visited;
    await page.route('**/assets/**', (route) => route.abort());

    await page.goto('/');

    const banner = page.getByText('Your Docusaurus site did not load properly.');
    await expect.poll(() => banner.isVisible()).toBe(true);
  });

  test.for([
    ['a page', 'article'],
    ['what surrounds it', 'aside'],
  ] as const)('in %s is told, and can be tried again', async ([, place]) => {
    proves('site.message.crash');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    await page.evaluate((inside) => {
      const { observe } = IntersectionObserver.prototype as {
        observe: (this: IntersectionObserver, element: Element) => void;
      };
      IntersectionObserver.prototype.observe = function observeOrFail(element): void {
        if (element.closest(inside) === null) return observe.call(this, element);
        IntersectionObserver.prototype.observe = observe;
        throw new Error('the fault that was wanted');
      };
    }, place);

    await toIntroduction(page).click();
    await page.getByRole('heading', { name: 'This page crashed.' }).waitFor();
    const text = await page.locator('#__docusaurus').textContent();
    await page.getByRole('button', { name: 'Try again' }).click();

    expect(text).toContain('the fault that was wanted');
    await page.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();
  });

  test('with the storage of the browser is only noted in the console', async () => {
    proves('site.message.storage');
    const warned: string[] = [];
    await using visited = await visit('/toolhive/faq', {
      before: async (page) => {
        page.on('console', (message) => message.type() === 'warning' && warned.push(message.text()));
        await page.addInitScript(() => {
          Object.defineProperty(globalThis, 'localStorage', {
            get() {
              throw new DOMException('no storage here', 'SecurityError');
            },
          });
        });
      },
    });
    const { page } = visited;

    await page.locator('.navbar button[class*="toggleButton"]').click();
    await page.waitForSelector('html[data-theme="light"]');

    expect(warned.join('\n')).toContain('storage');
    expect(await page.locator('html').getAttribute('data-theme-choice')).toBe('light'); // though nothing is read back
  });

  test('with a storage that refuses everything is noted in the console each time, and nothing is read', async () => {
    proves('site.message.storage');
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      before: (page) =>
        page.addInitScript(() => {
          localStorage.setItem('docusaurus.announcement.dismiss', 'true');
          for (const name of ['getItem', 'setItem', 'removeItem'] as const)
            Storage.prototype[name] = () => {
              throw new DOMException('the quota is used up', 'QuotaExceededError');
            };
        }),
    });
    const { page, errors } = visited;
    const bar = page.getByText('Something new');

    const isShown = await bar.isVisible();
    await page.getByRole('button', { name: 'Close' }).click();
    await bar.waitFor({ state: 'detached' });

    const failures = errors.filter((error) => error.startsWith('Docusaurus storage error'));
    expect(isShown).toBe(true);
    expect(failures.join('\n')).toContain("can't get key=docusaurus.announcement.dismiss");
    expect(failures.join('\n')).toContain("can't set docusaurus.announcement.dismiss=true");
    expect(failures.join('\n')).toContain("can't delete key=theme");
  });
});

test('the version of the documentation that a reader prefers is kept, and one that is gone is forgotten', async () => {
  const key = 'docs-preferred-version-default';
  await using visited = await visit('/toolhive/faq', {
    before: (page) =>
      page.addInitScript((name) => {
        if (sessionStorage.getItem('set') === null) localStorage.setItem(name, '0.9');
        sessionStorage.setItem('set', 'yes');
      }, key),
  });
  const { page } = visited;
  const read = (): Promise<string | null> => page.evaluate((name) => localStorage.getItem(name), key);

  await expect.poll(read).toBeNull();
  await page.evaluate((name) => localStorage.setItem(name, 'current'), key);
  await page.reload();
  await hydrated(page);

  expect(await read()).toBe('current');
});

describe('a page that is drawn before all its parts are loaded', () => {
  /** The scripts that a page has loaded. */
  const scripts = (page: Page): Promise<string[]> =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));

  /**
   * Opens a page by a name that only scripts understand, from the page of what is missing, which is open; whatever that
   * page needs as well is there, the rest is left to `parts`.
   */
  async function open(page: Page, parts: (route: Route) => Promise<void>): Promise<void> {
    const path = '/toolhive/faq.html';
    const there = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
    await serveAsMissing(page, path);
    await page.route('**/assets/js/*.js', (route) =>
      there.includes(route.request().url()) ? route.continue() : parts(route),
    );
    await page.goto(path, { waitUntil: 'commit' });
  }

  test('shows that it is on its way after 200 ms, and not before', async () => {
    proves('site.loading');
    await using visited = await visit('/nothing');
    const { page } = visited;
    const { promise: waiting, resolve: goOn } = Promise.withResolvers<void>();
    const there = await scripts(page);
    await page.addInitScript(() => {
      const seen: Record<string, number> = {};
      Object.assign(globalThis, { seen });
      const { appendChild } = Node.prototype as { appendChild: (this: Node, child: Node) => Node };
      Node.prototype.appendChild = function noted(child) {
        if (child instanceof HTMLScriptElement) seen[child.src] ??= performance.now();
        return appendChild.call(this, child) as typeof child;
      };
      new MutationObserver(() => {
        if (document.querySelector('[role="status"][aria-label="Loading"]') !== null)
          seen['spinner'] ??= performance.now();
      }).observe(document, { childList: true, subtree: true });
    });

    await open(page, async (route) => {
      await waiting;
      await route.continue();
    });
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    const { spinner = 0, ...others } = await page.evaluate(
      () => (globalThis as unknown as { seen: Record<string, number> }).seen,
    );
    const asked = Object.entries(others).filter(
      ([name]) => name.includes('/assets/') && !there.includes(name),
    );
    goOn();
    await page.getByRole('heading', { level: 1, name: 'Frequently asked questions' }).waitFor();

    const began = Math.min(...asked.map(([, at]) => at));
    expect(spinner - began).toBeGreaterThanOrEqual(195); // clocks of browsers are rounded
    expect(await page.getByRole('status', { name: 'Loading' }).count()).toBe(0);
  });

  test('says why a part does not come, and asks for it again when told to retry', async () => {
    proves('site.message.load-failure');
    await using visited = await visit('/nothing');
    const { page } = visited;
    let isBroken = true;

    await open(page, (route) => (isBroken ? route.abort() : route.continue()));
    const alert = page.getByRole('alert');
    await alert.getByText(/Loading chunk \S+ failed/).waitFor();
    isBroken = false;
    await alert.getByRole('button', { name: 'Retry', exact: true }).click();

    await page.getByRole('heading', { level: 1, name: 'Frequently asked questions' }).waitFor();
    expect(await alert.count()).toBe(0);
  });
});
