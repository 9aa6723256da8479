// @suite ui (in depth)
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { registry, useBrowser, useWorld } from './world.ts';

useBrowser();

const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script>\u202Eevil\u200B\u001B[31m [click](javascript:alert(3))`;

/** A registry whose texts try to deceive. */
const entries = {
  ...registry,
  servers: {
    ...registry.servers,
    liar: {
      ...registry.servers.everything,
      description: hostile,
      repository_url: 'javascript:alert(4)',
      tags: [hostile],
      tools: [hostile],
      env_vars: [{ name: 'TOKEN', description: hostile, required: true, secret: true }],
    },
  },
};

const world = useWorld({ entries, prepare: ({ home }) => mkdir(join(home, '.cursor')) }, ({ run }) =>
  run('liar', 'hostile'),
);

test('hostile text on every screen is only ever text', { timeout: 400_000 }, async () => {
  await world().api('PUT', '/workloads/liar/traffic/recording', { bodies: true });
  await using visited = await world().open();
  const { page, errors, foreign, dialogs } = visited;
  const screens = [
    '/ui/',
    '/ui/add',
    '/ui/add/default/liar',
    '/ui/w/liar',
    '/ui/w/liar/tools',
    '/ui/w/liar/logs',
    '/ui/w/liar/network',
    '/ui/w/liar/traffic',
    '/ui/w/liar/access',
    '/ui/w/liar/configuration',
    '/ui/activity',
    '/ui/doctor',
    `/ui/w/${encodeURIComponent('<img src=x onerror=alert(5)>')}`,
    `/ui/groups/${encodeURIComponent('<b>')}`,
    '/ui/add/default/%22%3E%3Cscript%3Ealert(6)%3C%2Fscript%3E',
  ];

  for (const path of screens) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
    await expectHarmless(page);
  }
  await page.goto('/ui/w/liar/tools');
  for (const tool of ['form', 'content', 'structured']) {
    await page.getByRole('button', { name: tool, exact: true }).click();
    if (tool === 'form') await page.getByLabel(/^message/).fill('x');
    await page.getByRole('button', { name: 'Call tool' }).click();
    await page.locator('.foreign', { hasText: 'From liar' }).waitFor();
    await expectHarmless(page);
  }
  await page.getByRole('button', { name: 'ask', exact: true }).click();
  await page.getByRole('button', { name: 'Call tool' }).click();
  await page.getByRole('dialog', { name: 'liar asks for input' }).waitFor();
  await expectHarmless(page);

  expect(dialogs).toEqual([]);
  expect(errors).toEqual([]);
  expect(foreign).toEqual([]);
});

/** No element of hostile text, no character that cannot be seen, and no link but those to visible web addresses. */
async function expectHarmless(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    // oxlint-disable-next-line no-control-regex -- it is what is looked for
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    const unseen = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts: string[] = [];
    while (walker.nextNode()) {
      const text = walker.currentNode.textContent ?? '';
      // A text that the user can edit has to stay as it is.
      const isEdited = walker.currentNode.parentElement?.tagName === 'TEXTAREA';
      if (unseen.test(text) && !isEdited) texts.push(text);
    }
    const attributes = [...document.querySelectorAll('*')].flatMap((element) =>
      [...element.attributes]
        .filter(({ name, value }) => name !== 'value' && (name.startsWith('on') || unseen.test(value)))
        .map(({ name, value }) => `${name}=${value}`),
    );
    return {
      texts,
      attributes,
      scripts: document.querySelectorAll('script:not([src])').length,
      images: [...document.images]
        .map(({ src }) => src)
        .filter((src) => !/^data:image\/|\/ui\/icon\.svg$/.test(src)),
      links: [...document.links]
        .filter((link) => link.origin !== location.origin)
        .filter((link) => !/^https?:$/.test(link.protocol) || !link.textContent?.includes(link.host))
        .map((link) => link.href),
    };
  });
  expect(found).toEqual({ texts: [], attributes: [], scripts: 0, images: [], links: [] });
}

test('a result cannot look like a part of the web UI', async () => {
  await using visited = await world().open('/ui/w/liar/tools?tool=form');
  const { page } = visited;
  await page.getByLabel(/^message/).fill('x');

  await page.getByRole('button', { name: 'Call tool' }).click();

  const frame = page.locator('.foreign', { hasText: 'From liar' });
  await frame.waitFor();
  expect(await frame.locator('h1, form, button, input').count()).toBe(0);
  expect(await frame.innerText()).toContain('<h1>ToolHive needs your password</h1>');
  expect(await frame.evaluate((element) => getComputedStyle(element).borderStyle)).toBe('dashed');
});
