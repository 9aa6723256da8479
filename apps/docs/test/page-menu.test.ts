// @suite docs (in depth)
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { useBrowser } from './browse.ts';
import { faults } from './faults.ts';
import { keepFeedback } from './feedback.ts';

const visit = useBrowser({ isCached: true });

const copy = (page: Page) => page.getByRole('button', { name: 'Copy page' });
const more = (page: Page) => page.getByRole('button', { name: 'More ways to read this page' });

describe('above the title of a page', () => {
  test('a button copies it as Markdown, which is fetched only then', async () => {
    await using visited = await visit('/toolhive/faq', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const { page, foreign } = visited;
    const fetched: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (!pathname.startsWith('/assets/')) fetched.push(pathname); // pages ahead may still be on their way
    });

    await copy(page).click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' });

    const text = await (await page.request.get('/toolhive/faq.md')).text();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    expect(text).toMatch(/^# Frequently asked questions\n/);
    expect(fetched).toEqual(['/toolhive/faq.md']);
    expect(foreign).toEqual([]);
  });

  test('a page that cannot be copied is told as that', async () => {
    await using visited = await visit('/toolhive/faq', { permissions: ['clipboard-write'] });
    const { page } = visited;
    await page.route('**/*.md', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<p>No such file' }),
    );

    await copy(page).click();

    await expect.poll(() => page.getByRole('status').allTextContents()).toContain('Could not be copied');
  });

  test('there is its Markdown, and assistants that are given its published address', async () => {
    await using visited = await visit('/toolhive/guides-cli/', {});
    const { page, foreign } = visited;

    await more(page).click();
    const links = await page
      .locator('#' + (await more(page).getAttribute('aria-controls')))
      .getByRole('link')
      .evaluateAll((all) =>
        all.map((link) => [link.textContent, link.getAttribute('href'), link.getAttribute('rel')]),
      );

    const question = encodeURIComponent(
      'Read https://docs.toolhive.example/toolhive/guides-cli.md, I want to ask questions about it.',
    );
    expect(links).toEqual([
      ['View as Markdown', '/toolhive/guides-cli.md', null],
      ['Open in ChatGPT another site', `https://chatgpt.com/?q=${question}`, 'noopener noreferrer'],
      ['Open in Claude another site', `https://claude.ai/new?q=${question}`, 'noopener noreferrer'],
    ]);
    expect(foreign).toEqual([]);
    expect((await page.request.get('/toolhive/guides-cli.md')).status()).toBe(200);
  });

  test('a list opens and closes by key, by a press beside it and by going on', async () => {
    await using visited = await visit('/toolhive/faq');
    const { page } = visited;
    const isOpen = (): Promise<string | null> => more(page).getAttribute('aria-expanded');

    await more(page).press('Enter');
    const byEnter = await isOpen();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    const byEscape = [
      await isOpen(),
      await more(page).evaluate((button) => document.activeElement === button),
    ];
    await more(page).press('Space');
    for (let presses = 0; presses < 4; presses++) await page.keyboard.press('Tab');
    const byLeaving = await isOpen();
    await more(page).click();
    await page.getByRole('heading', { level: 1 }).click();
    const byPress = await isOpen();

    expect([byEnter, byEscape, byLeaving, byPress]).toEqual(['true', ['false', true], 'false', 'false']);
  });

  test('all of it is accessible', async () => {
    await using visited = await visit('/toolhive/faq', { viewport: { width: 320, height: 640 } });
    const { page } = visited;
    await more(page).click();

    const found = await faults(page);
    const box = await page.getByRole('link', { name: 'View as Markdown' }).boundingBox();

    expect(found).toEqual([]);
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  });
});

describe('at the end of a page, where readers are heard', () => {
  const answer = (page: Page, name: string) =>
    page.getByRole('group', { name: 'Was this page helpful?' }).getByRole('button', { name });

  test.for([
    ['Yes', true],
    ['No', false],
  ] as const)('they are asked whether it helped, and %s is sent once', async ([name, helpful]) => {
    await using visited = await visit('/toolhive/faq', { site: 'fullSite' });
    const { page } = visited;
    const sent = await keepFeedback(page);

    await answer(page, name).click();
    await page.getByText('Thank you. It has been sent.').waitFor();

    expect(sent).toEqual([{ page: '/toolhive/faq', helpful }]);
    expect(await answer(page, name).isDisabled()).toBe(true);
    expect(await faults(page, { modes: ['light'] })).toEqual([]);
  });

  test('they are told when it could not be sent, and may try again', async () => {
    await using visited = await visit('/toolhive/faq', {
      site: 'fullSite',
      before: (page) => page.route('https://feedback.example/messages', (route) => route.abort()),
    });
    const { page } = visited;

    await answer(page, 'Yes').click();
    await page.getByText('It could not be sent. Try again later.').waitFor();

    expect(await answer(page, 'Yes').isEnabled()).toBe(true);
  });

  test('no request is sent by default', async () => {
    await using visited = await visit('/toolhive/faq');

    expect(await visited.page.getByText('Was this page helpful?').count()).toBe(0);
  });
});
