// @suite system (in depth)
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseSource } from '../source.ts';
import { aLaunch } from '../testing/conformance.ts';
import { openNpmRegistry } from '../testing/npm-registry.ts';
import { openProcessRuntime } from './process.ts';
import { never, outputOf } from './test-rig.ts';

const hasBrowser = ['/usr/lib/chromium/chromium', '/opt/google/chrome/chrome'].some(existsSync);

/** Renders a page with the browser that a library would start. */
const program = `#!/usr/bin/env node
const { execFileSync } = require('child_process');
const render = (browser) => execFileSync(browser, ['--dump-dom', 'data:text/html,<p>rendered</p>'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const places = [process.env.CHROME_PATH, 'google-chrome', process.env.PLAYWRIGHT_BROWSERS_PATH + '/chromium-7/chrome-linux/chrome'];
console.log(places.map((place) => /<p>rendered<.p>/.test(render(place))).join());
`;

test.runIf(hasBrowser)(
  'a server that no list names starts the browser of this machine in its sandbox',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thv-browser-'));
    const publish = async (
      name: string,
      files: Record<string, string>,
      manifest: object = {},
    ): Promise<string> => {
      await mkdir(join(folder, name));
      const all = { 'package.json': JSON.stringify({ name, version: '1.0.0', ...manifest }), ...files };
      for (const [path, text] of Object.entries(all)) await writeFile(join(folder, name, path), text);
      return join(folder, name);
    };
    const browsers = JSON.stringify({ browsers: [{ name: 'chromium', revision: '7' }] });
    await using registry = await openNpmRegistry([
      await publish(
        'renders',
        { 'main.js': program },
        { bin: 'main.js', dependencies: { 'playwright-core': '1' } },
      ),
      await publish('playwright-core', { 'browsers.json': browsers }),
    ]);
    const runtime = openProcessRuntime({
      daemonId: `browser-${folder.slice(-6)}`,
      cacheDir: join(folder, 'cache'),
      tempDir: join(folder, 'tmp'),
      bundlesDir: join(folder, 'bundles'),
      homesDir: join(folder, 'homes'),
      env: { ...process.env, npm_config_registry: registry.url },
    });
    const source = await runtime.prepare(parseSource('npx://renders'), { report: () => {}, signal: never });
    const limits = { ...aLaunch(source).limits, memoryBytes: 2 ** 30, processes: 256, openFiles: 4096 };

    await using instance = await runtime.start(aLaunch(source, { args: [], limits }), never);
    const said = await outputOf(instance);
    await rm(folder, { recursive: true, force: true });

    expect(said.trim()).toBe('true,true,true');
  },
);
