import { atMost, milliseconds } from '../../../bench/tables.ts';
import type { Section } from '../../../bench/tables.ts';
import { openWorld } from '../../../e2e/ui/world.ts';
import { launchBrowser } from './browser.ts';

const stored = 50_000;
const perSecond = 2_000;
const seconds = 10;
const maxMs = 50;

/** The longest task of the page while it follows a log that grows fast. */
export async function followedLog(): Promise<Section['rows']> {
  await using world = await openWorld();
  await world.run('tester');
  await using shared = await launchBrowser();
  const page = await shared.browser.newPage();
  await page.goto(`${world.base}/ui/w/tester/logs`);
  const write = (lines: number, rate: number): Promise<string> =>
    world.user.mustThv('mcp', 'call', 'tester', 'write', `lines=${lines}`, `perSecond=${rate}`);
  await page.getByText('ready A text of the server.').waitFor();
  await write(stored, 5 * perSecond);
  await page.getByText(/; older lines are dropped/).waitFor({ timeout: 60_000 });
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    });
    observer.observe({ type: 'longtask' });
  });
  await write(seconds * perSecond, perSecond);
  await page
    .getByText(`line ${seconds * perSecond - 1} `)
    .last()
    .waitFor();
  // Tasks of 50 ms or less are not reported.
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
  const longest = Math.max(0, ...tasks);
  const name = `Longest task over ${maxMs} ms in ${seconds} s of ${perSecond} lines per second, ${stored} lines shown`;
  return [[name, atMost(longest, maxMs, milliseconds), '–']];
}
