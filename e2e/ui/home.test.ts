import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { testServer } from '../testing/thv.ts';
import { useBrowser, useWorld } from './world.ts';
import type { UiWorld } from './world.ts';

useBrowser();

const world = useWorld({}, runCurious);

/** A server that may reach one host, and a client that has called it. The server was refused another host. */
async function runCurious({ create }: UiWorld): Promise<void> {
  const network = { outbound: { allow_host: ['allowed.example'], allow_port: [443] } };
  const url = await create({
    name: 'curious',
    image: testServer,
    cmd_arguments: ['echo'],
    permission_profile: { network },
  });
  await using client = await connectTo(url);
  for (let call = 0; call < 3; call++) await client.call('echo', { message: 'hello' });
  const ask = `require('net').connect({ host: 'refused.example', port: 443 }).on('error', () => {})`;
  await client.call('execute', { command: '/opt/toolhive/bin/node', args: ['-e', ask] });
}

test('the picture has a line for each client and host of the last hour, and each leads to its calls', async () => {
  await using visited = await world().open('/ui/', { viewport: { width: 1280, height: 800 } });
  const { page, errors } = visited;

  await page.getByRole('link', { name: /to curious: \d+ calls, 0 errors/ }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/ui\/w\/curious\/traffic\?q=/);
  await page.getByRole('grid', { name: 'Calls' }).getByText('echo').first().waitFor();
  await page.goBack();
  const refused = page.getByRole('link', { name: /curious to refused\.example: .*\d+ denied/ });
  await refused.waitFor({ state: 'attached' });
  expect(await refused.locator('.link-denied').count()).toBe(1);
  await refused.focus();
  await page.keyboard.press('Enter');

  await page.waitForURL(/\/ui\/w\/curious\/network\?q=refused\.example/);
  await page.getByRole('rowheader', { name: 'refused.example' }).first().waitFor();
  await page.getByRole('img', { name: /The last hour: 0 connections allowed, \d+ denied/ }).waitFor();
  expect(errors).toEqual([]);
});

test('a row has the calls, the median, and the access of its server, and the same is there as text', async () => {
  await using visited = await world().open('/ui/', { viewport: { width: 1920, height: 900 } });
  const { page } = visited;
  const row = page.getByRole('row', { name: /curious/ });

  await row.getByRole('img', { name: /^\d+ calls and 0 errors in the last hour$/ }).waitFor();
  await row.getByText(/^[\d.]+ m?s$/).waitFor();
  await row.getByRole('img', { name: 'no files, only 1 host, no secrets' }).waitFor();
  expect(await row.locator('.dot.filled').count()).toBe(1);
  await page.getByText(/^The last hour: \d+ calls, \d+ denied/).click();

  const table = page.getByRole('grid', { name: 'Connections of the last hour' });
  expect(await table.innerText()).toMatch(/curious\s+refused\.example/);
});

test('the list shows access and tokens of all rows without a request for each', async () => {
  for (const name of ['one', 'two']) await world().run(name);
  await world().api('GET', '/workloads/one/capabilities'); // lists its tools
  await using visited = await world().open('/ui/settings', { viewport: { width: 1920, height: 900 } });
  const { page } = visited;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));

  await page.goto(`${world().base}/ui/`);
  await page.getByRole('button', { name: 'Tokens' }).click();

  await page
    .getByRole('row', { name: /\bone\b/ })
    .getByText(/^[\d,]+$/)
    .waitFor();
  await page
    .getByRole('row', { name: /\btwo\b/ })
    .getByRole('img', { name: /no files/ })
    .waitFor();
  expect(asked.filter((path) => /workloads\/(?:one|two)/.test(path))).toEqual([]);
});

test('filter, order, and the selected workload are in the address, and are the same after Back', async () => {
  for (const name of ['server-2', 'server-10', 'other']) await world().run(name);
  await using visited = await world().open('/ui/', { viewport: { width: 1280, height: 800 } });
  const { page } = visited;
  const names = (): Promise<string[]> => page.locator('tbody [role=rowheader] a').allInnerTexts();

  await page.getByRole('row', { name: /server-2/ }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('server-');
  await page.getByRole('button', { name: 'Name' }).click();
  await expect.poll(names).toEqual(['server-10', 'server-2']);
  await page
    .getByRole('row', { name: /server-2/ })
    .getByText('Running')
    .click();
  await page.getByRole('complementary', { name: 'Server server-2' }).waitFor();
  await page.waitForURL(/\?(?=.*q=server-)(?=.*sort=-name)(?=.*w=server-2)/);
  await page.getByRole('complementary').getByRole('link', { name: 'Logs' }).click();
  await page.waitForURL('**/ui/w/server-2/logs');
  await page.goBack();

  await page.getByRole('complementary', { name: 'Server server-2' }).waitFor();
  expect(await page.getByLabel('Filter servers').inputValue()).toBe('server-');
  expect(await names()).toEqual(['server-10', 'server-2']);
  await page.reload();
  await expect.poll(names).toEqual(['server-10', 'server-2']);
});

test('a narrow screen opens the workload itself, and the sections are in a menu on a phone', async () => {
  await world().run('tester');
  await using visited = await world().open('/ui/', { viewport: { width: 360, height: 740 } });
  const { page } = visited;
  const top = await page.getByRole('heading', { name: 'Servers' }).boundingBox();
  expect(top?.y).toBeLessThan(100);

  await page
    .getByRole('row', { name: /tester/ })
    .getByText('Running')
    .click();
  await page.waitForURL('**/ui/w/tester');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Doctor', exact: true }).click();

  await page.getByRole('heading', { name: 'Doctor' }).waitFor();
  expect(await page.getByRole('button', { name: 'Menu' }).getAttribute('aria-expanded')).toBe('false');
});
