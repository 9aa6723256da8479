// @suite docs (in depth)
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { useBrowser } from './browse.ts';
import { serve } from './serve.ts';
import { buildSmallSite } from './small-site/small-site.ts';
import type { SmallSite } from './small-site/small-site.ts';

const visit = useBrowser({ isCached: true });

test('an image that does not exist keeps the site from being built', async () => {
  proves('site.links.broken');
  await using site = await buildSmallSite({ 'docs/picture.md': '# A page\n\n![Nothing](./nothing.png)\n' });

  expect(site.isBuilt).toBe(false);
  expect(site.output).toMatch(
    /image .*\.\/nothing\.png.* in source file .*docs\/picture\.md.* couldn't be resolved/,
  );
});

test('a link that leads nowhere keeps the site from being built; one to a file that is missing is told as well', async () => {
  proves('site.links.broken', 'site.links.warned');
  await using site = await buildSmallSite({
    'docs/page.md': '# A page\n\n[One](/nowhere), [two](./missing.md) and [three](/)\n',
  });

  expect(site.isBuilt).toBe(false);
  expect(site.output).toMatch(
    /\[WARNING\] Markdown link .*\.\/missing\.md.* in source file .*docs\/page\.md/,
  );
  expect(site.output).toContain('Docusaurus found broken links!');
  expect(site.output.match(/linking to .*/g)).toEqual([
    'linking to /nowhere',
    'linking to ./missing.md (resolved as: /missing.md)',
  ]);
});

describe('a site of two versions and two languages', () => {
  const warnings: Record<string, string> = {
    'docs/second.md': '# The second\n\n[To nothing on a page](/second#nothing)\n',
    'docs/same-one.md': '---\nslug: /same\n---\n\n# One of two\n',
    'docs/same-two.md': '---\nslug: /same\n---\n\n# Two of two\n',
  };
  const older: Record<string, string> = {
    'versions.json': '["1.0"]',
    'versioned_docs/version-1.0/index.md': '---\nslug: /\n---\n\n# The first page, as it was\n',
    'versioned_sidebars/version-1.0-sidebars.json': '{"pages":["index"]}',
  };
  const items = [
    { to: '/second', label: 'A link', position: 'left' },
    { type: 'dropdown', label: 'A menu', position: 'left', items: [{ to: '/second', label: 'In the menu' }] },
    { type: 'doc', docId: 'second', label: 'A page', position: 'left' },
    { type: 'docSidebar', sidebarId: 'pages', label: 'A sidebar', position: 'right' },
    { type: 'html', value: '<b>Words</b>', position: 'right' },
    { type: 'docsVersion', position: 'right' },
    { type: 'docsVersionDropdown', position: 'right' },
    { type: 'localeDropdown', position: 'right' },
    { type: 'search', position: 'right' },
  ];

  let site: SmallSite;
  let served: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    site = await buildSmallSite(
      { ...warnings, ...older },
      {
        // Only the English pages are built; the others are somewhere else.
        i18n: { defaultLocale: 'en', locales: ['en', 'fr'], localeConfigs: { fr: { baseUrl: '/fr/' } } },
        theme: {
          colorMode: { defaultMode: 'dark', respectPrefersColorScheme: false, disableSwitch: false },
          navbar: { items },
        },
      },
    );
    if (!site.isBuilt) throw new Error(site.output);
    served = await serve(site.folder);
  });
  afterAll(async () => {
    await served?.[Symbol.asyncDispose]();
    await site[Symbol.asyncDispose]();
  });

  test('is built though a link leads to nothing on a page and two pages have one address; both are told', () => {
    proves('site.links.warned');
    expect(site.output).toMatch(/\[WARNING\] Docusaurus found broken anchors!/);
    expect(site.output).toContain('linking to /second#nothing');
    expect(site.output).toMatch(/\[WARNING\] Duplicate routes found!/);
    expect(site.output).toMatch(/Attempting to create page at .*\/same/);
  });

  test('has an item of every type in its navbar, at the left and at the right', async () => {
    proves('site.navbar.items');
    await using visited = await visit('/second', { site: served });
    const { page } = visited;

    const [left, right] = await page
      .locator('.navbar__items')
      .evaluateAll((groups) => groups.map((group) => (group as HTMLElement).innerText.split('\n')));

    expect(left).toEqual(['A link', 'A menu', 'A page']);
    expect(right).toEqual(['A sidebar', 'Words', 'Next', 'Next', 'English', 'Search', 'Ctrl', 'K']);
  });

  test('leads to the same page in another language, and in another version or to the first page of that', async () => {
    proves('site.navbar.alternates');
    await using visited = await visit('/second', { site: served });
    const { page } = visited;
    const under = (name: string): Promise<string[]> =>
      page
        .locator('.dropdown', { has: page.locator('.navbar__link', { hasText: name }) })
        .locator('ul a')
        .evaluateAll((links) => links.map((link) => `${link.textContent} ${link.getAttribute('href')}`));

    const fromSecond = [await under('Next'), await under('English')];
    await page.goto('/');
    const fromFirst = await under('Next');

    expect(fromSecond).toEqual([
      ['Next /second', '1.0 /1.0/'],
      ['English /second', 'Français /fr/second'],
    ]);
    expect(fromFirst).toEqual(['Next /', '1.0 /1.0/']);
  });

  test('keeps the version that a reader chooses', async () => {
    proves('site.version-preference');
    await using visited = await visit('/', { site: served });
    const { page } = visited;

    await page.locator('.dropdown', { hasText: '1.0' }).hover();
    await page.getByRole('link', { name: '1.0' }).click();
    await page.getByRole('heading', { level: 1, name: 'The first page, as it was' }).waitFor();

    expect(await page.evaluate(() => localStorage.getItem('docs-preferred-version-default'))).toBe('1.0');
  });

  test('switches between dark and light where the system has no say', async () => {
    proves('site.colour-mode.two');
    await using visited = await visit('/', { site: served, colorScheme: 'light' });
    const { page } = visited;
    const toggle = page.locator('.navbar button[class*="toggleButton"]');

    const seen: unknown[] = [];
    for (let press = 0; press < 3; press++) {
      seen.push(await page.locator('html').getAttribute('data-theme'));
      await toggle.click();
    }

    expect(seen).toEqual(['dark', 'light', 'dark']);
  });
});
