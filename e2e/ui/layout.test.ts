// @suite ui (in depth)
import { readFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { root, testServer } from '../testing/thv.ts';
import { registry, useBrowser, useWorld } from './world.ts';
import type { UiWorld } from './world.ts';

// The guard of the layout: every screen, with long and hostile values, at four sizes, and at one of them in both color modes.

useBrowser();

const sizes = [
  { width: 360, height: 740 },
  { width: 768, height: 1024 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

const modes = ['light', 'dark'] as const;

const long = 'a-name-with-so-many-letters-that-no-column-has-enough-room-for-it';
const word = 'W'.repeat(120);
const hostile = `<b>${word}</b>\u202Eevil\u200B ${'many words '.repeat(30)}`;

const entries = {
  ...registry,
  servers: {
    ...registry.servers,
    [long]: { ...registry.servers.everything, description: hostile, tags: [word, hostile, long] },
  },
};

/** The screens that show these values, by their address in the router. */
const screens: Record<string, readonly string[]> = {
  '/': ['/', `/?w=${long}`, '/?q=nothing-like-this'],
  '/welcome': ['/welcome'],
  '/add': ['/add', '/add?tab=package', '/add?tab=remote', '/add?tab=paste'],
  '/add/:registry/:server': [`/add/default/${long}`],
  '/w/:name/tools': [`/w/${long}/tools`],
  '/w/:name/traffic': ['/w/curious/traffic', `/w/${long}/traffic`],
  '/w/:name/network': ['/w/curious/network', `/w/${long}/network`],
  '/w/:name/logs': [`/w/${long}/logs`],
  '/w/:name/access': ['/w/curious/access', `/w/${long}/access`],
  '/w/:name/configuration': [`/w/${long}/configuration`],
  '/w/:name/edit': [`/w/${long}/edit`],
  '/w/:name': [`/w/${long}`, '/w/curious', '/w/missing'],
  '/groups': ['/groups'],
  '/groups/:name': [`/groups/${long}`],
  '/clients': ['/clients'],
  '/secrets': ['/secrets'],
  '/registries': ['/registries'],
  '/activity': ['/activity'],
  '/doctor': ['/doctor'],
  '/settings': ['/settings'],
};

const world = useWorld({ entries, prepare: ({ home }) => mkdir(join(home, '.cursor')) }, fill);

async function fill({ user, api, run, create }: UiWorld): Promise<void> {
  await api('POST', '/groups', { name: long, description: hostile.slice(0, 400) });
  await api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await api('POST', '/secrets/default/keys', { key: `${long} ${word}`, value: 'x' });
  await api('POST', '/clients/register', { names: ['cursor'], groups: ['default', long] });
  const network = {
    outbound: { allow_host: [`${long.slice(0, 60)}.example`, 'b.example'], allow_port: [443] },
  };
  const curiousRequest = {
    name: 'curious',
    image: testServer,
    cmd_arguments: ['echo'],
    permission_profile: { network },
  };
  const url = await create(curiousRequest);
  await run(long, 'hostile');
  const { proxy_url: liarUrl } = (await (await api('GET', `/workloads/${long}`)).json()) as {
    proxy_url: string;
  };
  const ask = `require('net').connect({ host: '${long.slice(0, 60)}.refused.example', port: 443 }).on('error', () => {})`;
  await using curious = await connectTo(url);
  await curious.call('echo', { message: word });
  await curious.call('execute', { command: '/opt/toolhive/bin/node', args: ['-e', ask] });
  await using liar = await connectTo(liarUrl);
  await liar.call('form', { message: hostile });
  await user.mustThv('learn', 'curious');
  await run('idle', 'echo');
  await api('POST', '/workloads/idle/stop');
  await user.thv('run', '--name', 'broken', testServer, '--', 'nothing');
}

test('the guard knows every screen of the router', async () => {
  const router = await readFile(join(root, 'apps/web/src/app.tsx'), 'utf8');
  const paths = [...router.matchAll(/^ {2}'(\/[^']*)': /gm)].map(([, path = '']) => path);

  expect(paths.length).toBeGreaterThan(15);
  expect(Object.keys(screens).toSorted()).toEqual(paths.toSorted());
});

/** More screens, of which only the texts are looked at. */
const more = ['/w/nowhere', '/w/broken', '/w/broken/logs', '/w/idle', '/w/idle/tools', '/w/idle/network'];

test(
  'no screen breaks a button, a time, or a number, cuts off an action, or lets elements overlap, or sends its user to a terminal, or says "workload": commands are only copied',
  { timeout: 900_000 },
  async () => {
    await using visited = await world().open();
    const { page } = visited;
    const found: string[] = [];

    const all = Object.values(screens).flat();
    for (const path of [...all, ...more]) {
      await page.goto(`/ui${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText(/^Loading/).count()).toBe(0);
      if (path === '/w/curious/network')
        await page
          .getByText(/^learning mode since/)
          .first()
          .waitFor();
      found.push(...(await commandsOn(page)).map((line) => `${path}: ${line}`));
      if (!all.includes(path)) continue;
      for (const size of sizes) {
        await page.setViewportSize(size);
        // The mode decides about colors, and not about sizes.
        for (const colorScheme of size === sizes[0] ? modes : modes.slice(0, 1)) {
          await page.emulateMedia({ colorScheme });
          const defects = await defectsOf(page);
          found.push(...defects.map((defect) => `${path} at ${size.width}, ${colorScheme}: ${defect}`));
        }
      }
    }

    expect(found).toEqual([]);
  },
);

/** The lines of the page that send its user to a terminal, or say "workload". */
async function commandsOn(page: Page): Promise<string[]> {
  const text = await page.locator('body').innerText();
  return text
    .split('\n')
    .filter((line) => /\bthv [a-z]|\bworkloads?\b/i.test(line) && !/^Copy as thv|^\{"time"/.test(line)); // logs stay as they are
}

test.each([
  ['button', '<button style="width: 3rem; white-space: normal">Two words</button>', /is broken/],
  ['time', '<p style="width: 2rem; overflow-wrap: anywhere">12:34:56</p>', /is broken/],
  ['cut time', '<p style="width: 2rem; overflow: hidden; white-space: nowrap">12:34:56</p>', /is cut off/],
  [
    'beginning',
    '<table class="list"><tr><td><div class="cell" style="width: 4rem"><button style="width: 4rem">Many letters in a row</button></div></td></tr></table>',
    /the beginning of .* is cut off/,
  ],
  ['action', '<button style="position: absolute; left: 340px">Beyond</button>', /is cut off/],
  [
    'tall action',
    '<table class="list"><tr><td class="cell" style="height: 1rem"><a class="button" style="min-height: 3rem">Fix</a></td></tr></table>',
    /Fix" is cut off/,
  ],
  ['row', '<table class="list"><tr style="height: 60px"><td>x</td></tr></table>', /px high/],
  ['overlap', '<div><button style="margin-bottom: -20px">A</button></div><button>B</button>', /overlaps/],
])('the guard finds a defect: %s', async (_name, html, message) => {
  await using visited = await world().open('/ui/settings', {
    viewport: { width: 360, height: 740 },
    bypassCSP: true, // for the inserted defect
  });
  const { page } = visited;
  await page.getByText('minimum-package-age').waitFor();
  expect(await defectsOf(page)).toEqual([]);

  await page
    .locator('main')
    .evaluate((main, inserted) => main.insertAdjacentHTML('beforeend', inserted), html);

  expect(await defectsOf(page)).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
});

/** The highest row that is not a card, in pixels. */
const maxRowHeight = 56;

/** The defects in the layout of the page, a line each. */
async function defectsOf(page: Page): Promise<string[]> {
  // The layout follows the size in the next frames.
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
      }),
  );
  return page.evaluate((maxHeight) => {
    const defects: string[] = [];
    const name = (element: Element): string =>
      `${element.tagName.toLowerCase()} "${(element.getAttribute('aria-label') ?? element.textContent ?? '').slice(0, 40)}"`;
    const isVisible = (element: Element): boolean =>
      element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) &&
      element.closest('.visually-hidden, .nav-label, .skip, .toasts') === null &&
      element.getClientRects().length > 0;

    /** The lines that a range of text takes. */
    const lines = (range: Range): number => {
      const tops = [...range.getClientRects()].filter(({ width }) => width > 1).map(({ top }) => top);
      return tops
        .toSorted((a, b) => a - b)
        .filter((top, index, all) => index === 0 || top - (all[index - 1] ?? 0) > 6).length;
    };
    /** Whether a part of a text is behind the edge of an element around it, or with `isStart` its beginning. */
    const isCut = (range: Range, parent: Element, isStart = false): boolean => {
      const { left, right } = range.getBoundingClientRect();
      for (let around: Element | null = parent; around !== null; around = around.parentElement) {
        if (!/hidden|clip/.test(getComputedStyle(around).overflowX)) continue;
        const box = around.getBoundingClientRect();
        if (left < box.left - 1 || (!isStart && right > box.right + 1)) return true;
      }
      return false;
    };
    const range = document.createRange();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      const parent = text.parentElement;
      const content = text.textContent ?? '';
      if (parent === null || content.trim() === '' || !isVisible(parent)) continue;
      const isWhole =
        parent.closest('button, .button, .number, .amount, .status, .badge, [role=menuitem]') !== null ||
        (parent.closest('.list .cell') !== null && parent.closest('.as-cards fieldset') === null);
      range.selectNodeContents(text);
      if (isWhole && lines(range) > 1) defects.push(`${name(parent)} is broken`);
      if (parent.closest('.list .cell') !== null && isCut(range, parent, true))
        defects.push(`the beginning of ${name(parent)} is cut off`);
      for (const match of content.matchAll(/\d{1,2}:\d\d(?::\d\d)?|\d+(?:[.,]\d+)*/g)) {
        if (match[0].length > 20) continue; // a long identifier has to break somewhere
        if (parent.closest('pre, code, bdi, textarea') !== null && !match[0].includes(':')) continue;
        range.setStart(text, match.index);
        range.setEnd(text, match.index + match[0].length);
        if (lines(range) > 1) defects.push(`${match[0]} in ${name(parent)} is broken`);
        if (match[0].includes(':') && isCut(range, parent))
          defects.push(`${match[0]} in ${name(parent)} is cut off`);
      }
    }

    const controls = [
      ...document.querySelectorAll('button, .button, input, select, textarea, main a:not(svg a), summary'),
    ].filter(isVisible);
    for (const control of controls) {
      const { left, right, top: controlTop, bottom: controlBottom, width } = control.getBoundingClientRect();
      const isText = control.matches('a:not(.button), .link, summary');
      if (isText && control.closest('.cell, .row-main, .card') !== null) continue; // a text with an ellipsis
      let [start, end] = [0, document.documentElement.clientWidth];
      for (let around = control.parentElement; around !== null; around = around.parentElement) {
        if (!/hidden|clip/.test(getComputedStyle(around).overflowX)) continue;
        const box = around.getBoundingClientRect();
        [start, end] = [Math.max(start, box.left), Math.min(end, box.right)];
      }
      const cell = control.matches('button, .button') ? control.closest('.list .cell') : null;
      const { top = controlTop, bottom = controlBottom } = cell?.getBoundingClientRect() ?? {};
      const isTall = controlTop < top - 1 || controlBottom > bottom + 1;
      if (width > 0 && (left < start - 1 || right > end + 1 || isTall))
        defects.push(`${name(control)} is cut off`);
    }

    for (const row of document.querySelectorAll('.list:not(.as-cards) tr'))
      if (isVisible(row) && row.getBoundingClientRect().height > maxHeight)
        defects.push(`${name(row)} is ${Math.round(row.getBoundingClientRect().height)} px high`);
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
      defects.push(`the page is ${document.documentElement.scrollWidth} px wide`);

    const boxes = [
      ...controls,
      ...[...document.querySelectorAll('.list .cell, .panel, h1, h2')].filter(isVisible),
    ]
      .filter((element) => element.closest('nav[aria-label=Main], .log, dialog') === null)
      .map((element) => ({ element, box: visibleBox(element) }));
    for (const [index, { element, box }] of boxes.entries()) {
      for (const { element: other, box: around } of boxes.slice(index + 1)) {
        if (element.contains(other) || other.contains(element)) continue;
        const width = Math.min(box.right, around.right) - Math.max(box.left, around.left);
        const height = Math.min(box.bottom, around.bottom) - Math.max(box.top, around.top);
        const isSticky = [element, other].some((each) => each.closest('thead, .panel, .tool-list') !== null);
        if (width > 2 && height > 2 && !isSticky) defects.push(`${name(element)} overlaps ${name(other)}`);
      }
    }
    return [...new Set(defects)];

    /** The part of an element that its surroundings do not hide. */
    function visibleBox(element: Element): { left: number; right: number; top: number; bottom: number } {
      let { left, right, top, bottom } = element.getBoundingClientRect();
      for (let around = element.parentElement; around !== null; around = around.parentElement) {
        if (getComputedStyle(around).overflowX === 'visible') continue;
        const box = around.getBoundingClientRect();
        [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
        [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      return { left, right, top, bottom };
    }
  }, maxRowHeight);
}
