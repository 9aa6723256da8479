import { expect, test } from 'vitest';
import type { Launch } from '../runtime.ts';
import { parseSource } from '../source.ts';
import { browserFor } from './browsers.ts';

const launchOf = (source: string, args: string[] = [], env: Launch['env'] = {}) => ({
  source: parseSource(source),
  args,
  env,
});

test('gives a server that starts a browser the one of this machine', async () => {
  const found = await browserFor(launchOf('npx://@playwright/mcp@1.0.0'), ['/nowhere', process.execPath]);

  expect(found.args).toContain(process.execPath);
});

test.each([
  [['--executablePath=/x'], {}],
  [['--browser', 'firefox'], {}],
  [[], { PUPPETEER_EXECUTABLE_PATH: '/x' }],
])('leaves the choice of the user alone: %j %j', async (args, env) => {
  const found = await browserFor(launchOf('npx://chrome-devtools-mcp', args, env), [process.execPath]);

  expect(found).toEqual({ args: [], env: {}, readOnlyPaths: [] });
});

test('names what to install where there is no browser', async () => {
  const finding = browserFor(launchOf('npx://@playwright/mcp'), ['/nowhere']);

  await expect(finding).rejects.toMatchObject({
    message: '@playwright/mcp needs Chromium or Google Chrome, and neither is installed',
    hint: expect.stringContaining('apt install chromium'),
  });
});

test('gives other servers nothing', async () => {
  const found = await browserFor(launchOf('uvx://playwright'), [process.execPath]);

  expect(found).toEqual({ args: [], env: {}, readOnlyPaths: [] });
});
