// @suite docs (in depth)
import { readFile } from 'node:fs/promises';
import { openSite } from '@toolhive/api/site';
import { openTestApi } from '@toolhive/api/testing';
import { operations } from '@toolhive/contract/operations';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { callsOf } from '../src/plugins/references/open-api.ts';
import type { OpenApi } from '../src/plugins/references/open-api.ts';
import { hydrated } from '../bench/hydrated.ts';
import { useBrowser } from './browse.ts';

const visit = useBrowser({ isCached: true });
const page = '/toolhive/reference/api';
const source = await readFile(new URL('../static/api-specs/toolhive-api.yaml', import.meta.url), 'utf8');
const specification = parse(source) as OpenApi;
const calls = callsOf(specification);
const schemas = Object.keys(specification.components.schemas);

const isShown = (reader: Page, id: string): Promise<boolean> =>
  reader.evaluate((name) => {
    const top = document.getElementById(name)?.getBoundingClientRect().top ?? Number.NaN;
    return top >= 0 && top < 200;
  }, id);

/** Opens what asks for the version, with the address that the page itself has. */
async function openTryIt(reader: Page): Promise<Locator> {
  await reader.locator('[data-try="getVersion"]').click();
  const dialog = reader.getByRole('dialog', { name: 'Get the version' });
  await dialog.getByLabel('Address of your daemon').fill(new URL(reader.url()).origin);
  return dialog;
}

/** Where a part is, with all others drawn: what is drawn only as it comes near moves what a pointer is about to press. */
const at = (id: string): string => `${page}#${id}`;

test('the specification is served as it is, with every operation', async () => {
  const served = await readFile(`${siteFolder}/api-specs/toolhive-api.yaml`, 'utf8');

  expect(served).toBe(source);
  expect(calls.length).toBeGreaterThanOrEqual(Object.keys(operations).length);
});

test('every operation and every schema has an anchor, which its page in the browser goes to', async () => {
  await using visited = await visit(`${page}#watchEvents`);

  const anchors = await visited.page.evaluate(() =>
    [...document.querySelectorAll('.api [id]')].map(({ id }) => id),
  );

  const wanted = [
    ...calls.map(({ operation }) => operation.operationId),
    ...schemas.map((name) => `schema-${name}`),
  ];
  expect(wanted.filter((id) => !anchors.includes(id))).toEqual([]);
  await expect
    .poll(() => visited.page.locator('#watchEvents').boundingBox())
    .toMatchObject({ y: expect.closeTo(80, -2) });
  expect(await visited.page.locator('.api-contents [aria-current]').innerText()).toContain('GET');
});

test('an address that means nothing leaves the page as it is', async () => {
  await using visited = await visit(at('100%'));

  expect(await visited.page.locator('.api-contents').isVisible()).toBe(true);
  expect(await visited.page.locator('.api-contents [aria-current]').count()).toBe(0);
  expect(visited.errors).toEqual([]);
});

test('who follows a link of another page to an operation gets there, and sees it marked', async () => {
  const { summary } = calls.find(({ operation }) => operation.operationId === 'watchEvents')!.operation;
  await using visited = await visit(`/search?q=${encodeURIComponent(summary)}`);
  const current = visited.page.locator('.api-contents [aria-current]');

  await visited.page
    .locator(`main a[href="${at('watchEvents')}"]`)
    .first()
    .click();

  await expect.poll(() => isShown(visited.page, 'watchEvents')).toBe(true);
  expect(await current.innerText()).toContain(summary);

  await visited.page.locator('.api-contents a[href="#failures"]').click();

  await expect.poll(() => current.allInnerTexts()).toEqual(['Failures']);
  expect(await isShown(visited.page, 'failures')).toBe(true);
});

test('a distant part is not drawn, and links still lead to it', async () => {
  await using visited = await visit(page);
  const undrawn = (): Promise<boolean> =>
    visited.page.evaluate(() => {
      const headings = [...document.querySelectorAll('.api-part > h3')];
      return !headings.at(-1)!.checkVisibility({ contentVisibilityAuto: true }); // there is one
    });

  expect(await undrawn()).toBe(true);
  const schema = `schema-${schemas.at(-1)}`;
  await visited.page
    .locator(`.api-contents a[href="#${schema}"]`)
    .evaluate((link) => (link as HTMLElement).click()); // it is in a collapsed list
  await expect.poll(() => isShown(visited.page, schema)).toBe(true);
  await visited.page.goto('about:blank');
  await visited.page.goto(`${page}#failures`);

  await expect.poll(() => isShown(visited.page, 'failures')).toBe(true);
  expect(await undrawn()).toBe(false);
});

test('the page comes drawn: nothing that draws it is loaded, unless the reader comes from another page', async () => {
  await using visited = await visit(page);
  const loaded = (): Promise<boolean> =>
    visited.page.evaluate(async () => {
      const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js'));
      const texts = await Promise.all(scripts.map(async ({ name }) => (await fetch(name)).text()));
      return texts.some((text) => text.includes('x-codeSamples') && text.includes('getWorkloadLogs'));
    });
  const parts = calls.length + schemas.length;

  expect(await visited.page.locator('.api-part').count()).toBe(parts);
  expect(await loaded()).toBe(false);

  await visited.page.goto('/toolhive/guides-cli/api-server');
  await hydrated(visited.page);
  await visited.page.locator(`main a[href^="${page}"]`).first().click();
  await visited.page.locator('#createWorkload').waitFor();

  expect(await visited.page.locator('.api-part').count()).toBe(parts);
  expect(await loaded()).toBe(true);
  expect(visited.errors).toEqual([]);
});

test('examples are shown in one language at a time, and with curl where the language has none', async () => {
  await using visited = await visit(page);
  // Not what is painted: nothing is, far away from what the reader sees.
  const example = (id: string): Promise<string | null> =>
    visited.page.locator(`.api-part:has(#${id}) .api-examples > pre:visible`).textContent();

  expect(await example('stopWorkload')).toContain('curl --request POST');

  await visited.page.getByLabel('thv', { exact: true }).check();

  expect(await example('stopWorkload')).toBe('thv stop filesystem');
  expect(await example('getHealth')).toBe('curl http://localhost:8080/api/v1beta/health');

  await visited.page.getByLabel('JavaScript', { exact: true }).check();

  expect(await example('stopWorkload')).toContain("method: 'POST'");
});

test('an example can be copied', async () => {
  await using visited = await visit(at('getHealth'), {
    // The clipboard itself can only be read by the page that has the focus.
    before: (reader) =>
      reader.addInitScript(() => {
        navigator.clipboard.writeText = async (text) => void (document.body.dataset['written'] = text);
      }),
  });

  await visited.page.locator('.api-part:has(#getHealth) [data-copy]').click();

  await visited.page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await visited.page.locator('body').getAttribute('data-written')).toBe(
    'curl http://localhost:8080/api/v1beta/health',
  );
});

test('where the browser has no clipboard, the button says that nothing was copied', async () => {
  await using visited = await visit(at('getHealth'), {
    before: (reader) =>
      reader.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined })),
  });

  await visited.page.locator('.api-part:has(#getHealth) [data-copy]').click();

  await visited.page.getByRole('button', { name: 'Not copied' }).waitFor();
  expect(visited.errors).toEqual([]);
});

test('an operation can be tried on the daemon that serves the page, once the reader has named it', async () => {
  await using api = await openTestApi({}, { site: openSite(siteFolder) });
  const own = `http://127.0.0.1:${api.port}`;
  await using visited = await visit(page);
  const asked: string[] = [];
  visited.page.on('request', (request) => request.url().includes('/v1beta/') && asked.push(request.url()));
  await visited.page.goto(`${own}${at('createGroup')}`);
  await hydrated(visited.page);

  await visited.page.locator('[data-try="createGroup"]').click();
  const dialog = visited.page.getByRole('dialog', { name: 'Create a group' });
  await dialog.getByLabel('Address of your daemon').fill(own);
  expect(asked).toEqual([]);
  await dialog.getByLabel('Body').fill('{ "name": "tried" }');
  await dialog.getByRole('button', { name: 'Send' }).click();

  await expect.poll(() => dialog.getByRole('status').innerText()).toContain('201 Created');
  expect(asked).toEqual([`${own}/api/v1beta/groups`]);
  expect((await api.client.listGroups({})).groups.map(({ name }) => name)).toContain('tried');

  await visited.page.keyboard.press('Escape');

  await dialog.waitFor({ state: 'detached' });
});

test('a reader who names another server sees why the browser does not ask it', async () => {
  await using visited = await visit(at('getVersion'));

  await visited.page.locator('[data-try="getVersion"]').click();
  const dialog = visited.page.getByRole('dialog', { name: 'Get the version' });
  await dialog.getByLabel('Address of your daemon').fill('http://127.0.0.1:1');
  await dialog.getByRole('button', { name: 'Send' }).click();

  await expect
    .poll(() => dialog.getByRole('status').innerText())
    .toContain('No response from http://127.0.0.1:1.');
});

test('an operation is asked for once, however often Send is pressed meanwhile', async () => {
  const held = Promise.withResolvers<void>();
  const asked: string[] = [];
  await using visited = await visit(at('getVersion'));
  await visited.page.route('**/api/v1beta/version', async (route) => {
    asked.push(route.request().url());
    await held.promise;
    await route.fulfill({ json: { version: 'tried' } });
  });
  const dialog = await openTryIt(visited.page);
  const send = dialog.getByRole('button', { name: 'Send' });

  await send.dblclick();
  expect(await send.isDisabled()).toBe(true);
  held.resolve();

  await expect.poll(() => dialog.getByRole('status').innerText()).toContain('tried');
  expect(await send.isEnabled()).toBe(true);
  expect(asked).toHaveLength(1);
});

test('an answer that breaks off is told as that, and not as one that took too long', async () => {
  await using visited = await visit(at('getVersion'));
  await visited.page.evaluate(() => {
    const pieces = ['half of it'];
    const pull = async (stream: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      const piece = pieces.shift();
      if (piece !== undefined) return stream.enqueue(new TextEncoder().encode(piece));
      await new Promise((resolve) => setTimeout(resolve, 100)); // until the piece has been shown
      stream.error(new TypeError('network error'));
    };
    window.fetch = () => Promise.resolve(new Response(new ReadableStream({ pull })));
  });
  const dialog = await openTryIt(visited.page);

  await dialog.getByRole('button', { name: 'Send' }).click();

  const answer = dialog.getByRole('status');
  await expect.poll(() => answer.innerText()).toMatch(/half of it\s+… and then the connection broke off/);
});

test('a stream is listened to until enough of it is shown, and then closed', async () => {
  await using visited = await visit(at('getVersion'));
  await visited.page.evaluate(() => {
    window.fetch = () => {
      const piece = new TextEncoder().encode('and so on '.repeat(500));
      const cancel = (): void => void (document.title = 'closed');
      return Promise.resolve(
        new Response(new ReadableStream({ pull: (stream) => stream.enqueue(piece), cancel })),
      );
    };
  });
  const dialog = await openTryIt(visited.page);

  await dialog.getByRole('button', { name: 'Send' }).click();

  await expect.poll(() => dialog.getByRole('status').innerText()).toMatch(/… and more$/);
  await expect.poll(() => visited.page.title()).toBe('closed');
});

test.each([
  ['dark', 'rgb(255, 180, 84)'],
  ['light', 'rgb(163, 71, 0)'],
] as const)(
  'in %s mode the reference has the colour of the site, and contents that are 300 px wide',
  async (scheme, color) => {
    await using visited = await visit(page, { colorScheme: scheme, viewport: { width: 1440, height: 900 } });

    const link = visited.page.locator('.api-main p a:not(.hash-link)').first();
    const contents = await visited.page.locator('.api-contents').boundingBox();

    expect(await link.evaluate((element) => getComputedStyle(element).color)).toBe(color);
    expect(contents?.width).toBe(300);
  },
);

test('the sidebar shows commands as a tree, each by its last word', async () => {
  await using visited = await visit('/toolhive/reference/cli/thv_config_otel_get-endpoint', {
    viewport: { width: 1440, height: 900 },
  });

  const labels = await visited.page.evaluate(() => {
    const found: (string | null | undefined)[] = [];
    let item = document.querySelector('.menu__link--active[aria-current="page"]')?.closest('li') ?? null;
    for (; item !== null; item = item.parentElement?.closest('li') ?? null)
      found.unshift(item.querySelector('a')?.textContent);
    return found;
  });

  expect(labels).toEqual(['Reference', 'Command reference', 'config', 'otel', 'get-endpoint']);
});

test('a table that is wider than a phone can be scrolled with the keyboard', async () => {
  await using visited = await visit('/toolhive/reference/cli/thv_run', {
    viewport: { width: 390, height: 800 },
  });
  const table = visited.page.getByRole('group', { name: 'Permissions', exact: true });

  await table.focus();
  await visited.page.keyboard.press('ArrowRight');

  await expect.poll(() => table.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
  const isPageWider = await visited.page.evaluate(
    () => document.documentElement.scrollWidth > window.innerWidth,
  );
  expect(isPageWider).toBe(false);
});
