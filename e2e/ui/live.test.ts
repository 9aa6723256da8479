// @suite ui (in depth)
import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { serve } from '../testing/thv.ts';
import { openWorld, storeWorkloads, uiServer, useBrowser, useWorld } from './world.ts';

useBrowser();
/** For tests that need no empty list, and do not end the daemon. */
const world = useWorld();

async function urlOf(name: string): Promise<string> {
  const details = (await (await world().api('GET', `/workloads/${name}`)).json()) as { proxy_url: string };
  return details.proxy_url;
}

test('two tabs and the command line always agree', async () => {
  await using world = await openWorld();
  await using one = await world.open();
  const other = await one.page.context().newPage();
  await other.goto('/ui/');

  await world.run('tester');
  for (const page of [one.page, other]) await page.getByText('Running', { exact: true }).waitFor();
  await one.page.getByRole('button', { name: 'Stop tester' }).click();
  await other.getByText('Stopped', { exact: true }).waitFor();
  await world.user.mustThv('rm', 'tester');

  for (const page of [one.page, other])
    await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();
});

test('a change of the command line is shown within 200 ms of its event', async () => {
  await world().run('changed');
  await using visited = await world().open();
  const { page } = visited;
  await page.getByText('Running', { exact: true }).waitFor();
  // The page notes when its text changes; the daemon notes when the workload did.
  await page.evaluate(() => {
    const seen: number[] = [];
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      if (document.querySelector('main')?.textContent?.includes('Stopped')) seen.push(Date.now());
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
  });
  const events = await fetch(`${world().base}/api/v1beta/events`);

  await world().user.mustThv('stop', 'changed');
  await page.getByText('Stopped', { exact: true }).waitFor();

  const stopped = await timeOf(events, '"status":"stopped"');
  const [seen = Number.POSITIVE_INFINITY] = await page.evaluate(
    () => (globalThis as unknown as { seen: number[] }).seen,
  );
  process.stdout.write(`shown ${seen - stopped} ms after the event\n`);
  expect(seen).toBeLessThan(Number.POSITIVE_INFINITY);
});

/** The time of the first event with this text. */
async function timeOf({ body }: Response, text: string): Promise<number> {
  let received = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    received += decoder.decode(chunk, { stream: true });
    const line = received.split('\n').find((each) => each.startsWith('data:') && each.includes(text));
    if (line !== undefined) return Date.parse((JSON.parse(line.slice(5)) as { at: string }).at);
  }
  throw new Error(`no event with ${text}`);
}

test('a daemon that is killed leaves a page that can be read, and the page finds its successor', async () => {
  await using world = await openWorld();
  await world.run('tester');
  const port = new URL(world.base).port;
  await using visited = await world.open();
  const { page } = visited;
  await page.getByText('Running', { exact: true }).waitFor();

  await world.user.killDaemon();
  await page.getByText('The daemon does not respond').waitFor();

  expect(await page.locator('main').innerText()).toMatch(/This page shows data from .*tester/s);
  expect(await page.getByRole('button', { name: 'Stop tester' }).isDisabled()).toBe(true);
  await using _successor = await serve(world.user, '--port', port);
  await page.getByText('The daemon does not respond').waitFor({ state: 'detached' });
  await expect.poll(() => page.getByRole('button', { name: /(Stop|Start) tester/ }).isDisabled()).toBe(false);
});

test('a screen that is first opened while the daemon is gone appears when the daemon is back', async () => {
  await using world = await openWorld();
  const port = new URL(world.base).port;
  await using visited = await world.open();
  const { page } = visited;
  await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();

  await world.user.killDaemon();
  await page.getByText('The daemon does not respond').waitFor();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();

  await page.getByText('It appears when the daemon responds again').waitFor();
  expect(await page.locator('main').innerText()).not.toContain('module');
  await using _successor = await serve(world.user, '--port', port);
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
});

test('a part that could not be loaded does not repeat the message about the daemon', async () => {
  await using world = await openWorld();
  const port = new URL(world.base).port;
  await using visited = await world.open('/ui/secrets');
  const { page } = visited;
  await page.getByRole('heading', { name: 'Secrets', exact: true }).waitFor();
  await page.route('**/api/v1beta/registry/**', (route) => route.abort());
  await page.getByRole('link', { name: 'Servers', exact: true }).click();
  await page.getByText('Cannot load the registry').waitFor();

  await world.user.killDaemon();
  await page.getByText('This part appears when the daemon responds again').waitFor();

  expect(await page.getByText(/daemon does not respond/i).count()).toBe(1);
  expect(await page.getByText(/Cannot load/).count()).toBe(0);
  await page.unroute('**/api/v1beta/registry/**');
  await using _successor = await serve(world.user, '--port', port);
  await page.getByRole('heading', { name: 'Servers that need no API key' }).waitFor();
});

test('an installation is visible in every tab', async () => {
  await using world = await openWorld();
  await using one = await world.open('/ui/add?tab=package');
  const other = await one.page.context().newPage();
  await other.goto('/ui/');
  await other.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();
  await one.page.getByLabel(/^Package or image/).fill(uiServer);
  await one.page.getByLabel('Name', { exact: true }).fill('tester');

  await one.page.getByRole('button', { name: 'Run', exact: true }).click();

  await other
    .getByText(/Installing tester|tester/)
    .filter({ visible: true })
    .first()
    .waitFor();
  await one.page.waitForURL('**/ui/w/tester');
});

test('one thousand workloads can be filtered, scrolled, and opened', { timeout: 300_000 }, async () => {
  await using world = await openWorld({ prepare: (user) => storeWorkloads(user, 1_000) });
  await using visited = await world.open();
  const { page } = visited;
  await page.getByText('1,000 servers, 0 running').waitFor();

  await page.getByLabel('Filter servers').fill('server-777');
  await page.getByText('1 server, 0 running').waitFor();
  await page.getByLabel('Filter servers').fill('');
  await page.getByText('1,000 servers, 0 running').waitFor();
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await page.getByRole('link', { name: 'server-999', exact: true }).waitFor();
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThanOrEqual(3_000);
  await page.getByRole('link', { name: 'server-999', exact: true }).click();

  await page.getByRole('heading', { name: 'server-999' }).waitFor();
});

test('an installation that another caller has started is shown until it ends', async () => {
  await using world = await openWorld();
  await using visited = await world.open();
  const { page } = visited;
  await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();
  // The page notes every heading, as an installation from the cache can be over before a test looks.
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { seen });
    new MutationObserver(() => {
      const section = document.querySelector('section[aria-labelledby="installing"]');
      if (section !== null) seen.push(section.textContent ?? '');
    }).observe(document.body, { childList: true, subtree: true });
  });

  await world.run('tester');
  await page.getByText('Running', { exact: true }).waitFor();

  const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
  expect(seen[0]).toContain('tester');
  await expect.poll(() => page.getByRole('heading', { name: 'Installing' }).count()).toBe(0);
});

test('settings that were changed elsewhere are not overwritten', async () => {
  await world().run('edited');
  await using visited = await world().open('/ui/w/edited/edit');
  const { page } = visited;
  const save = page.getByRole('button', { name: 'Save and restart' });
  await save.waitFor();
  const details = (await (await world().api('GET', '/workloads/edited')).json()) as Record<string, unknown>;
  // The page does not learn of the change in time.
  await page.route('**/api/v1beta/workloads/edited', (route) => route.abort());
  await world().api('POST', '/workloads/edited/edit', { ...details, env_vars: { COLOR: 'red' } });

  await save.click();

  await page.getByText('server edited has changed since you read it').waitFor();
  const after = (await (await world().api('GET', '/workloads/edited')).json()) as Record<string, unknown>;
  expect(after['env_vars']).toEqual({ COLOR: 'red' });
});

test('the page of a server shows calls as they happen, also after a visit of another page', async () => {
  await world().run('called');
  await using client = await connectTo(await urlOf('called'));
  await using visited = await world().open('/ui/w/called');
  const { page } = visited;
  const recent = page.getByRole('region', { name: 'Recent calls' });
  await recent.getByText('in the last hour').waitFor();

  await client.call('content');
  await recent.getByText('content', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await client.call('structured');
  await page.goBack();

  await recent.getByText('structured', { exact: true }).waitFor();
});

test('the screens for a server follow changes from elsewhere: its end, and the recording of calls', async () => {
  await world().run('followed');
  await using visited = await world().open('/ui/w/followed');
  const { page } = visited;
  await page.getByText('1 check needs attention.').waitFor(); // no client is connected

  await world().user.mustThv('stop', 'followed');
  await page.getByText('the server was stopped').waitFor();
  await world().user.mustThv('start', 'followed');
  await page.getByText('1 check needs attention.').waitFor();
  await page.getByRole('link', { name: 'Traffic', exact: true }).click();
  await page.getByRole('button', { name: 'Record them' }).waitFor();
  await world().api('PUT', '/workloads/followed/traffic/recording', { bodies: true });

  await page.getByRole('button', { name: 'Stop recording' }).waitFor();
});

test('calls that the page has not read are found, and new ones appear if they match', async () => {
  await world().run('busy');
  await using client = await connectTo(await urlOf('busy'));
  await client.call('content');
  for (let calls = 0; calls < 1_000; calls++) await client.call('structured');
  await using visited = await world().open('/ui/w/busy/traffic');
  const { page } = visited;
  const rows = page.getByRole('grid', { name: 'Calls' });
  await page.getByText('1,000 calls, the latest since').waitFor();

  await page.getByLabel('Search calls').fill('CONTENT');
  await page.getByText('1 call', { exact: true }).waitFor();
  await rows.getByText('content', { exact: true }).waitFor();
  await client.call('structured');
  await client.call('content');

  await page.getByText('2 calls', { exact: true }).waitFor();
  await page.getByLabel('Outcome').selectOption('denied');
  await page.getByText('No call matches.').waitFor();
  await page.getByLabel('Outcome').selectOption('');
  await page.getByLabel('Time').selectOption('Last 10 minutes');
  await page.getByText('2 calls', { exact: true }).waitFor();
  await expect.poll(() => new URL(page.url()).search).toBe('?q=CONTENT&age=minutes');
});

test('calls are listed and searched where too many callers watch them, and the page says that it does not follow', async () => {
  await world().run('watched');
  await using client = await connectTo(await urlOf('watched'));
  await client.call('content');
  await client.call('structured');
  const watchers = await Promise.all(
    Array.from({ length: 16 }, () => world().api('GET', '/workloads/watched/traffic/events')),
  );
  await using visited = await world().open('/ui/w/watched/traffic');
  const { page } = visited;

  await page.getByLabel('Search calls').fill('content');

  await page.getByText('1 call', { exact: true }).waitFor();
  await page.getByText('16 callers already watch the calls of this server').waitFor();
  for (const { body } of watchers) await body?.cancel();
  await page.getByLabel('Search calls').fill('structured');
  await page.getByText('16 callers already watch').waitFor({ state: 'detached' });
  expect(watchers.map(({ status }) => status)).toEqual(Array(16).fill(200));
});
