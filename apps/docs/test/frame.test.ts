// @suite docs (in depth)
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { hydrated } from '../bench/hydrated.ts';
import { useBrowser } from './browse.ts';
import { faults } from './faults.ts';
import { keepFeedback } from './feedback.ts';

const visit = useBrowser({ isCached: true });

const mode = (page: Page): Promise<string | null> => page.locator('html').getAttribute('data-theme');
const choice = (page: Page): Promise<string | null> => page.locator('html').getAttribute('data-theme-choice');
const stored = (page: Page, key: string): Promise<string | null> =>
  page.evaluate((name) => localStorage.getItem(name), key);

/** Scrolls by each of these distances, one after the other. */
async function scroll(page: Page, ...distances: number[]): Promise<void> {
  for (const distance of distances) {
    const before = await page.evaluate(() => scrollY);
    await page.mouse.wheel(0, distance);
    await page.waitForFunction((start) => scrollY !== start, before);
  }
}

describe('the colour mode', () => {
  const toggle = (page: Page) => page.locator('.navbar button[class*="toggleButton"]');

  test('goes through light, dark and system, and is kept', async () => {
    proves('site.colour-mode.choice');
    await using visited = await visit('/toolhive/faq', { colorScheme: 'light' });
    const { page } = visited;
    const seen: unknown[] = [];

    for (let press = 0; press < 4; press++) {
      seen.push([await choice(page), await mode(page), await stored(page, 'theme')]);
      await toggle(page).click();
    }

    expect(seen).toEqual([
      ['system', 'light', null],
      ['light', 'light', 'light'],
      ['dark', 'dark', 'dark'],
      ['system', 'light', null],
    ]);
  });

  test('follows the system while that is the choice, and not when it is another', async () => {
    proves('site.colour-mode.system');
    await using visited = await visit('/toolhive/faq', { colorScheme: 'dark' });
    const { page } = visited;

    const before = await mode(page);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForSelector('html[data-theme="light"]');
    await toggle(page).click();
    await toggle(page).click();
    await page.emulateMedia({ colorScheme: 'light' });
    const chosen = await mode(page);

    expect([before, chosen]).toEqual(['dark', 'dark']);
  });

  test('is the same in every tab', async () => {
    proves('site.colour-mode.choice');
    await using visited = await visit('/toolhive/faq', { colorScheme: 'dark' });
    await using other = await visited.page.context().newPage();
    await other.goto('/toolhive/');
    await hydrated(other);

    await toggle(visited.page).click();

    await other.waitForSelector('html[data-theme="light"]');
    expect(await choice(other)).toBe('light');
  });

  test('exists before the page is shown', async () => {
    await using visited = await visit('/toolhive/faq', { colorScheme: 'light' });
    await toggle(visited.page).click();
    await toggle(visited.page).click();

    await visited.page.route('**/*.js', (route) => route.abort());
    await visited.page.reload();

    expect(await mode(visited.page)).toBe('dark');
  });

  test('has no switch and forgets the choice where it is fixed', async () => {
    proves('site.colour-mode.fixed');
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      before: (page) => page.addInitScript(() => localStorage.setItem('theme', 'dark')),
    });
    const { page } = visited;

    await page.waitForFunction(() => localStorage.getItem('theme') === null);

    expect([await mode(page), await toggle(page).count()]).toEqual(['light', 0]);
  });
});

describe('the announcement', () => {
  const bar = '[class*="announcementBar_"]';

  test('stays until it is closed, and then away', async () => {
    proves('site.announcement');
    await using visited = await visit('/toolhive/faq', { site: 'fullSite' });
    const { page } = visited;

    const text = await page.locator(bar).textContent();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await hydrated(page);

    expect(text).toBe('Something new');
    expect(await page.locator(bar).count()).toBe(0);
    expect(await stored(page, 'docusaurus.announcement.dismiss')).toBe('true');
  });

  test('comes back when it is another one', async () => {
    proves('site.announcement');
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      before: (page) =>
        page.addInitScript(() => {
          localStorage.setItem('docusaurus.announcement.id', 'first');
          localStorage.setItem('docusaurus.announcement.dismiss', 'true');
        }),
    });
    const { page } = visited;

    await page.locator(bar).waitFor();

    expect(await stored(page, 'docusaurus.announcement.id')).toBe('second');
  });

  test('is off without an announcement', async () => {
    await using visited = await visit('/toolhive/faq');

    expect(await visited.page.locator(bar).count()).toBe(0);
  });
});

describe('the navigation', () => {
  test.for([
    [996, true],
    [997, false],
  ] as const)('at a width of %i pixels has a menu to open: %s', async ([width, isMobile]) => {
    proves('site.navbar.mobile');
    await using visited = await visit('/toolhive/faq', { viewport: { width, height: 800 } });

    const burger = visited.page.getByRole('button', { name: 'Toggle navigation bar' });

    expect(await burger.isVisible()).toBe(isMobile);
  });

  test('on a small screen leads from the pages back to the main menu, and closes when there is room', async () => {
    proves('site.navbar.mobile');
    await using visited = await visit('/toolhive/faq', { viewport: { width: 600, height: 800 } });
    const { page } = visited;
    await page.getByRole('button', { name: 'Toggle navigation bar' }).click();

    const sidebar = page.locator('.navbar-sidebar');
    await sidebar.getByRole('link', { name: 'Introduction' }).waitFor();
    expect((await sidebar.boundingBox())?.height).toBe(800);
    await sidebar.getByRole('button', { name: /Back to main menu/ }).click();
    await sidebar.getByRole('button', { name: 'References' }).waitFor();
    await page.setViewportSize({ width: 1200, height: 800 });

    await expect.poll(() => page.locator('.navbar-sidebar--show').count()).toBe(0);
  });

  test('on a small screen keeps the keyboard in the open menu, which Escape closes', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 600, height: 800 } });
    const { page } = visited;
    const nameOfFocus = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    await page.getByRole('button', { name: 'Toggle navigation bar' }).press('Enter');
    await expect.poll(nameOfFocus).toBe('Close navigation bar');

    const reached = new Set<string | undefined>();
    for (let step = 0; step < 40; step++) {
      await page.keyboard.press('Tab');
      reached.add(
        await page.evaluate(
          () => document.activeElement?.closest('.navbar-sidebar, main, footer')?.className,
        ),
      );
    }
    await page.keyboard.press('Escape');

    expect([...reached].filter((name) => name !== undefined)).toEqual([
      expect.stringContaining('navbar-sidebar'),
    ]);
    await expect.poll(nameOfFocus).toBe('Toggle navigation bar');
    expect(await page.locator('.navbar-sidebar--show').count()).toBe(0);
    expect(await page.locator('[inert]:not(.navbar-sidebar__item)').count()).toBe(0);
  });

  test('on a small screen gives the keyboard to the page that its menu has opened', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 600, height: 800 } });
    const { page } = visited;
    await page.getByRole('button', { name: 'Toggle navigation bar' }).press('Enter');

    await page.locator('.navbar-sidebar').getByRole('link', { name: 'Introduction' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();
    await page.keyboard.press('Tab');

    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe('Skip to main content');
  });

  test('on a small screen leaves its menu open when Escape closes the search', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 600, height: 800 } });
    const { page } = visited;
    await page.getByRole('button', { name: 'Toggle navigation bar' }).click();
    await page.keyboard.press('Control+k');
    await page.locator('.DocSearch-Input').waitFor();

    await page.keyboard.press('Escape');
    await page.locator('.DocSearch-Modal').waitFor({ state: 'detached' });

    expect(await page.locator('.navbar-sidebar--show').count()).toBe(1);
  });

  test('on a small screen slides in, unless the reader wants nothing to move', async () => {
    const small = { viewport: { width: 600, height: 800 } };
    const duration = async ({ page }: { page: Page }): Promise<string> => {
      await page.getByRole('button', { name: 'Toggle navigation bar' }).click();
      return page.locator('.navbar-sidebar').evaluate((menu) => getComputedStyle(menu).transitionDuration);
    };
    await using moving = await visit('/toolhive/faq', small);
    await using still = await visit('/toolhive/faq', { ...small, reducedMotion: 'reduce' });

    const durations = [await duration(moving), await duration(still)];

    expect(durations).toEqual([expect.stringMatching(/^0\.\d+s/), '1e-05s']);
  });

  test('on a small screen is accessible: the pages, and the main menu', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 390, height: 800 } });
    const { page } = visited;
    await page.getByRole('button', { name: 'Toggle navigation bar' }).click();

    const menuOnly = { within: '.navbar-sidebar' };
    const pages = await faults(page, menuOnly);
    await page.getByRole('button', { name: /Back to main menu/ }).click();
    const menu = await faults(page, menuOnly);

    expect([pages, menu]).toEqual([[], []]);
  });

  test('has two menus, three icons and a logo that lead where they should', async () => {
    proves('site.navbar.links');
    await using visited = await visit('/toolhive/faq', { site: 'fullSite' });
    const { page } = visited;

    const menus = await page
      .locator('.navbar .dropdown')
      .evaluateAll((all) =>
        all.map((menu) => [
          menu.querySelector('a')?.textContent,
          ...[...menu.querySelectorAll('ul a')].map(
            (link) => `${link.textContent} ${link.getAttribute('href')}`,
          ),
        ]),
      );
    const icons = await page
      .locator('.navbar .icon-link')
      .evaluateAll((all) =>
        all.map((link) => ['aria-label', 'href', 'target'].map((name) => link.getAttribute(name))),
      );

    expect(menus).toEqual([
      [
        'Docs',
        'Home /toolhive/',
        'Tutorials /toolhive/tutorials',
        'UI guides /toolhive/guides-ui/',
        'CLI guides /toolhive/guides-cli/',
        'Kubernetes Operator guides /toolhive/guides-k8s/',
      ],
      [
        'References',
        'CLI commands /toolhive/reference/cli/thv',
        'API reference /toolhive/reference/api',
        'Registry schema /toolhive/reference/registry-schema',
        'Operator CRD spec /toolhive/reference/crd-spec',
      ],
    ]);
    expect(icons).toEqual([
      ['Source code', 'https://github.com/toolhive', '_blank'],
      ['Community chat', 'https://chat.example/toolhive', '_blank'],
      ['Videos', 'https://video.example/toolhive', '_blank'],
    ]);
    expect(await page.locator('.navbar__brand').getAttribute('href')).toBe('/');
  });

  test('goes away while the reader scrolls down, where that is wanted, and comes back', async () => {
    proves('site.navbar.hiding');
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      viewport: { width: 1200, height: 500 },
    });
    const { page } = visited;
    const hidden = page.locator('.navbar[class*="navbarHidden"]');

    await scroll(page, 200, 200);
    await hidden.waitFor({ state: 'attached' });
    await scroll(page, -100);
    await hidden.waitFor({ state: 'detached' });
    await scroll(page, 100);
    await hidden.waitFor({ state: 'attached' });
    await page.evaluate(() => scrollTo(0, 0));

    await expect.poll(() => hidden.count()).toBe(0);
  });

  test('comes back on the way to another page, and stays away on the way to a place on a page', async () => {
    proves('site.navbar.hiding');
    await using visited = await visit('/toolhive/guides-cli/run-mcp-servers', {
      site: 'fullSite',
      viewport: { width: 1200, height: 500 },
    });
    const { page } = visited;
    const hidden = page.locator('.navbar[class*="navbarHidden"]');

    await page.locator('.table-of-contents a').nth(3).click();
    await hidden.waitFor({ state: 'attached' });
    await page.locator('.theme-doc-sidebar-container').getByRole('link', { name: 'Introduction' }).click();
    await page.getByRole('heading', { level: 1, name: 'Introduction' }).waitFor();

    await expect.poll(() => hidden.count()).toBe(0);
  });

  test('stays where it is by default', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 1200, height: 500 } });
    const { page } = visited;

    await page.mouse.wheel(0, 600);
    await page.waitForFunction(() => scrollY > 300);

    expect(await page.locator('.navbar').evaluate((bar) => bar.getBoundingClientRect().top)).toBe(0);
  });

  test('begins with a link to the content, for the keyboard', async () => {
    proves('site.skip-link');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;

    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press('Enter');

    expect(name).toBe('Skip to main content');
    await page.keyboard.press('Tab');
    await page.waitForFunction(() => document.activeElement?.closest('main') !== null);
  });

  test('shows where a page stands, and what is on it', async () => {
    proves('site.contents');
    await using visited = await visit('/toolhive/theme-preview'.replace('/toolhive', ''));
    const { page } = visited;

    const levels = await page
      .locator('.table-of-contents a')
      .evaluateAll((all) =>
        all.map((link) => document.querySelector(link.getAttribute('href') ?? '')?.tagName),
      );
    await page.goto('/toolhive/guides-cli/secrets-management');
    const trail = await page
      .getByRole('navigation', { name: 'Breadcrumbs' })
      .getByRole('listitem')
      .allTextContents();

    expect(new Set(levels)).toEqual(new Set(['H2', 'H3']));
    expect(trail).toEqual(['', 'CLI guides', 'Run MCP servers', 'Manage secrets']);
  });

  test('keeps categories open that the reader opens, and cannot be hidden', async () => {
    proves('site.sidebar');
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    const sidebar = page.locator('.theme-doc-sidebar-container');

    await sidebar.getByRole('button', { name: /UI guides/ }).click();
    await sidebar.getByRole('button', { name: /Concepts/ }).click();

    expect(await sidebar.getByRole('link', { name: 'Playground' }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Collapse sidebar', exact: true }).count()).toBe(0);
  });
});

test('the foot has five icons, the logo and the year', async () => {
  proves('site.footer');
  await using visited = await visit('/toolhive/faq', { site: 'fullSite' });
  const foot = visited.page.getByRole('contentinfo');

  const icons = await foot.locator('.icon-link').allTextContents();

  expect(icons).toEqual([
    'Source code',
    'Community chat',
    'Videos',
    'Professional network',
    'Social network',
  ]);
  expect(await foot.textContent()).toContain('2025');
  expect(await foot.locator('a[href="/"] img').count()).toBeGreaterThan(0);
});

test('no icon leads to a place that the settings do not name', async () => {
  await using visited = await visit('/toolhive/faq');

  const icons = await visited.page
    .locator('.icon-link')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href')));

  expect(new Set(icons)).toEqual(new Set(['https://github.com/toolhive']));
});

test('the feedback button, where it is wanted, is dark, at the bottom right, and sends what is written', async () => {
  proves('site.feedback');
  await using visited = await visit('/toolhive/faq', { site: 'fullSite' });
  const { page } = visited;
  const sent = await keepFeedback(page);

  const button = page.getByRole('button', { name: 'Feedback' });
  const { right, bottom, background } = await button.evaluate((element) => {
    const box = element.getBoundingClientRect();
    return {
      right: innerWidth - box.right,
      bottom: innerHeight - box.bottom,
      background: getComputedStyle(element).backgroundColor,
    };
  });
  await button.click();
  await page.getByRole('textbox').fill('A picture would help.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Thank you. It has been sent.').waitFor();

  expect([right < 60, bottom < 60, background]).toEqual([true, true, 'rgb(20, 22, 29)']);
  expect(sent).toEqual([{ page: '/toolhive/faq', message: 'A picture would help.' }]);
});

test('a page is printed dark on white, however it is shown', async () => {
  await using visited = await visit('/toolhive/guides-cli/install', { colorScheme: 'dark' });
  const { page } = visited;
  await page.locator('.navbar button[class*="toggleButton"]').click();
  await page.locator('.navbar button[class*="toggleButton"]').click();
  await page.evaluate(() =>
    addEventListener('beforeprint', () => {
      const colours = ['article p', 'article pre span'].map((part) => {
        const element = document.querySelector(part);
        return element === null ? '' : getComputedStyle(element).color;
      });
      Object.assign(globalThis, { colours });
    }),
  );

  await page.emulateMedia({ media: 'print' });
  await page.pdf();

  const colours = await page.evaluate(() => (globalThis as { colours?: string[] }).colours);
  expect(colours).toEqual(['rgb(35, 38, 47)', 'rgb(0, 0, 0)']);
  expect([await choice(page), await mode(page)]).toEqual(['dark', 'dark']);
});

test.for([320, 390])('nothing of the frame is wider than a screen of %i pixels', async (width) => {
  await using visited = await visit('/', { viewport: { width, height: 640 } });
  const { page } = visited;
  const wide: string[] = [];

  for (const path of [
    '/',
    '/toolhive/',
    '/toolhive/reference/cli/thv_run',
    '/search?q=secrets',
    '/nothing',
  ]) {
    await page.goto(path);
    await hydrated(page);
    if ((await page.evaluate(() => document.documentElement.scrollWidth)) > width) wide.push(path);
  }

  expect(wide).toEqual([]);
});

test('the column of pages is 300 pixels wide beside the API reference', async () => {
  proves('site.sidebar');
  await using visited = await visit('/toolhive/reference/api', { viewport: { width: 1280, height: 800 } });

  const box = await visited.page.locator('.theme-doc-sidebar-container').boundingBox();

  expect([box?.x, box?.width]).toEqual([0, 300]);
});

test('a diagram is drawn in neutral colours on light ground, and in dark ones on dark', async () => {
  proves('site.diagrams');
  await using visited = await visit('/toolhive/', { colorScheme: 'light' });
  const { page } = visited;
  const shown = async (): Promise<(string | null)[]> => {
    const pictures = await page.locator('figure img[src^="/diagrams/"]').all();
    const visible: (string | null)[] = [];
    for (const picture of pictures)
      if (await picture.isVisible()) visible.push(await picture.getAttribute('src'));
    return visible;
  };

  const light = await shown();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.waitForSelector('html[data-theme="dark"]');
  const dark = await shown();

  expect(light).toEqual([expect.stringMatching(/-neutral\.svg$/)]);
  expect(dark).toEqual([expect.stringMatching(/-dark\.svg$/)]);
});

test('every theme of colours that comes with the highlighter can be looked at, 19 and more', async () => {
  await using visited = await visit('/theme-preview');

  expect(await visited.page.getByLabel('Colours of').locator('option').count()).toBeGreaterThanOrEqual(19);
});

test('the site is in English, from left to right, and says what it is and what it was made with', async () => {
  proves('site.language');
  await using visited = await visit('/');
  const { page } = visited;
  const attribute = (selector: string, name: string): Promise<string | null> =>
    page.locator(selector).first().getAttribute(name);

  expect([await attribute('html', 'lang'), await attribute('html', 'dir')]).toEqual(['en', 'ltr']);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Simple and secure AI tools');
  expect(await attribute('meta[name="generator"]', 'content')).toMatch(/^Docusaurus v3\.9\./);
});

test('an address is the same page with a slash at its end and without', async () => {
  proves('site.addresses');
  await using visited = await visit('/toolhive/faq/');

  expect(await visited.page.getByRole('heading', { level: 1 }).textContent()).toBe(
    'Frequently asked questions',
  );
});
