import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { expect, test } from 'vitest';
import { chromiumOptions } from '@toolhive/testing/machine';
import { openWorld } from './world.ts';

test('a browser offers to install the web UI', async () => {
  await using world = await openWorld();
  await using profile = await mkdtempDisposable(join(tmpdir(), 'thv-profile-'));
  // A context without a profile is private, and installs nothing.
  const context = await chromium.launchPersistentContext(profile.path, {
    ...chromiumOptions,
    executablePath: '/usr/bin/chromium',
  });
  await using _closed = { [Symbol.asyncDispose]: () => context.close() };
  const page = await context.newPage();
  await page.goto(`${world.base}/ui/`);
  const session = await context.newCDPSession(page);

  const { errors, data = '' } = await session.send('Page.getAppManifest');
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');

  expect([...errors, ...installabilityErrors]).toEqual([]);
  const { icons } = JSON.parse(data) as { icons: { src: string; sizes: string; type: string }[] };
  expect(icons.length).toBeGreaterThan(1);
  for (const { src, sizes, type } of icons) {
    const answer = await fetch(new URL(src, `${world.base}/ui/`));
    expect(answer.headers.get('content-type')).toBe(type);
    const bytes = Buffer.from(await answer.arrayBuffer());
    // The first chunk of a PNG has the width and the height.
    if (type === 'image/png') expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`).toBe(sizes);
  }
});
