import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Launch } from '../runtime.ts';
import { parseSource } from '../source.ts';
import { browserFor } from './browsers.ts';

const nothing = { args: [], env: {}, readOnlyPaths: [], programs: {}, links: {} };

const launchOf = (source: string, args: string[] = [], env: Launch['env'] = {}) => ({
  source: parseSource(source),
  args,
  env,
});

test('gives a server that starts a browser the one of this machine', async () => {
  const found = await browserFor(launchOf('npx://@playwright/mcp@1.0.0'), '/nowhere', [
    '/nowhere',
    process.execPath,
  ]);

  expect(found.args).toContain(process.execPath);
});

test.each([
  [['--executablePath=/x'], {}],
  [['--browser', 'firefox'], {}],
  [[], { PUPPETEER_EXECUTABLE_PATH: '/x' }],
])('leaves the choice of the user alone: %j %j', async (args, env) => {
  const found = await browserFor(launchOf('npx://chrome-devtools-mcp', args, env), '/nowhere', [
    process.execPath,
  ]);

  expect(found).toEqual(nothing);
});

test('names what to install where there is no browser', async () => {
  const finding = browserFor(launchOf('npx://@playwright/mcp'), '/nowhere', ['/nowhere']);

  await expect(finding).rejects.toMatchObject({
    message: '@playwright/mcp needs Chromium or Google Chrome, and neither is installed',
    hint: expect.stringContaining('apt install chromium'),
  });
});

test('gives other servers nothing', async () => {
  const found = await browserFor(launchOf('uvx://playwright'), '/nowhere', [process.execPath]);

  expect(found).toEqual(nothing);
});

describe('a package that depends on a library for browsers', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thv-browsers-'));
    return () => rm(folder, { recursive: true, force: true });
  });

  async function write(path: string, text = ''): Promise<void> {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }

  const site = 'tools/server/lib/python3.13/site-packages';

  test.each([
    ['npx', 'node_modules/playwright-core/index.js'],
    ['npx', 'node_modules/puppeteer/index.js'],
    ['npx', 'node_modules/puppeteer-core/index.js'],
    ['npx', 'node_modules/chrome-launcher/index.js'],
    ['uvx', `${site}/playwright/__init__.py`],
    ['uvx', `${site}/pyppeteer/__init__.py`],
    ['uvx', `${site}/selenium/__init__.py`],
    ['uvx', 'venv/lib/python3.12/site-packages/playwright/__init__.py'],
  ])('finds the browser of this machine: %s with %s', async (scheme, path) => {
    await write(path);

    const { env, programs, links, args } = await browserFor(launchOf(`${scheme}://server`), folder, [
      process.execPath,
    ]);

    expect(args).toEqual([]);
    expect(env).toMatchObject({ PUPPETEER_EXECUTABLE_PATH: '/opt/toolhive/bin/chromium' });
    expect(programs['/opt/toolhive/bin/chromium']).toContain(
      `exec ${process.execPath} --no-sandbox --headless`,
    );
    expect(links['/opt/toolhive/bin/google-chrome']).toBe('/opt/toolhive/bin/chromium');
  });

  test.each([
    ['npx', 'node_modules/playwright-core/browsers.json'],
    ['uvx', `${site}/playwright/driver/package/browsers.json`],
  ])('finds it where %s packages of Playwright look', async (scheme, path) => {
    const browsers = [
      { name: 'chromium', revision: '1247' },
      { name: 'firefox', revision: '1500' },
    ];
    await write(path, JSON.stringify({ browsers }));

    const { links } = await browserFor(launchOf(`${scheme}://server`), folder, [process.execPath]);

    expect(links).toHaveProperty(['/opt/toolhive/browsers/chromium-1247/chrome-linux64/chrome']);
    expect(Object.keys(links).join()).not.toContain('1500');
  });

  test.each(['../../../etc', '1/../../x', 'x', ''])(
    'cannot choose another path with the revision %j',
    async (revision) => {
      const browsers = [{ name: 'chromium', revision }];
      await write('node_modules/playwright-core/browsers.json', JSON.stringify({ browsers }));

      const { links } = await browserFor(launchOf('npx://server'), folder, [process.execPath]);

      expect(Object.keys(links).filter((path) => !path.startsWith('/opt/toolhive/bin/'))).toEqual([]);
    },
  );

  test('starts without one, because it may need it for one tool of many', async () => {
    await write('node_modules/puppeteer/index.js');

    expect(await browserFor(launchOf('npx://server'), folder, ['/nowhere'])).toEqual(nothing);
  });

  test('leaves the choice of the user alone', async () => {
    await write('node_modules/puppeteer/index.js');

    const found = await browserFor(launchOf('npx://server', [], { CHROME_PATH: '/x' }), folder, [
      process.execPath,
    ]);

    expect(found).toEqual(nothing);
  });
});
