import { brotliCompressSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { median } from '../../../bench/statistics.ts';
import { atMost, milliseconds } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld } from '../../../e2e/ui/world.ts';
import { weightBudgets } from '../../../e2e/ui/weight.ts';
import { launchBrowser } from './browser.ts';
import { serveInspector } from './inspector.ts';
import { exactKilobytes } from './units.ts';

const rounds = 3;
const maxPaintMs = 500;

/** What a browser receives for the first view, and when it shows something. Both programs are asked in turns. */
export async function firstViews(): Promise<Section['rows']> {
  await using world = await openWorld();
  await using inspector = await serveInspector();
  await using shared = await launchBrowser();
  const [ours, theirs]: [FirstView[], FirstView[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ours.push(await view(shared.browser, `${world.base}/ui/`));
    theirs.push(await view(shared.browser, inspector.address));
  }
  const middle = (views: readonly FirstView[], figure: keyof FirstView): number =>
    median(views.map((each) => each[figure]));
  const row = (
    name: string,
    figure: keyof FirstView,
    budget: number,
    write: (value: number) => string,
  ): Section['rows'][number] => [
    name,
    atMost(middle(ours, figure), budget, write),
    write(middle(theirs, figure)),
  ];
  return [
    row('Script of the first view, with Brotli', 'script', weightBudgets.firstView, exactKilobytes),
    row('Styles of the first view, with Brotli', 'style', weightBudgets.style, exactKilobytes),
    row('Script of the first view, as transferred', 'sentScript', weightBudgets.firstView, exactKilobytes),
    row('Styles of the first view, as transferred', 'sentStyle', weightBudgets.style, exactKilobytes),
    row('First contentful paint on loopback', 'paintMs', maxPaintMs, milliseconds),
  ];
}

interface FirstView {
  script: number;
  style: number;
  sentScript: number;
  sentStyle: number;
  paintMs: number;
}

/** Opens an address in a browser context that has no cache. */
async function view(browser: Browser, address: string): Promise<FirstView> {
  const context = await browser.newContext();
  await using _closed = { [Symbol.asyncDispose]: () => context.close() };
  const page = await context.newPage();
  const found: FirstView = { script: 0, style: 0, sentScript: 0, sentStyle: 0, paintMs: 0 };
  const pending: Promise<void>[] = [];
  page.on('requestfinished', (request) => {
    const type = request.resourceType();
    if (type !== 'script' && type !== 'stylesheet') return;
    const kind = type === 'script' ? 'script' : 'style';
    const add = async (): Promise<void> => {
      const response = await request.response();
      if (response === null) throw new Error(`no response to ${request.url()}`);
      found[kind] += brotliCompressSync(await response.body()).length;
    };
    pending.push(add());
  });
  await page.goto(address, { waitUntil: 'load' });
  await page.screenshot(); // a browser that nobody watches paints only when it has to
  found.paintMs = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  );
  await Promise.all(pending);
  const sent = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).map(
      ({ name, encodedBodySize }) => ({ path: new URL(name).pathname, bytes: encodedBodySize }),
    ),
  );
  for (const { path, bytes } of sent) {
    if (path.endsWith('.js')) found.sentScript += bytes;
    if (path.endsWith('.css')) found.sentStyle += bytes;
  }
  return found;
}
