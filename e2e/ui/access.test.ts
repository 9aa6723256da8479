// @suite ui (in depth)
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { testServer } from '../testing/thv.ts';
import { useBrowser, useWorld } from './world.ts';

useBrowser();

const world = useWorld();

/** A server with a profile, and the hosts that it tries to reach, each with a port. */
async function runCurious(
  name: string,
  network: object,
  tried: readonly (readonly [string, number])[],
): Promise<void> {
  const request = { name, image: testServer, cmd_arguments: ['echo'], permission_profile: { network } };
  await using client = await connectTo(await world().create(request));
  const ask = tried
    .map(
      ([host, port]) => `require('net').connect({ host: '${host}', port: ${port} }).on('error', () => {});`,
    )
    .join('');
  if (ask !== '') await client.call('execute', { command: '/opt/toolhive/bin/node', args: ['-e', ask] });
}

const dialog = (page: Page) => page.getByRole('dialog');

async function networkOf(name: string): Promise<unknown> {
  const answer = await world().api('GET', `/workloads/${name}/permissions`);
  return ((await answer.json()) as { network: unknown }).network;
}

test('suspicious texts of a first listing are not called a change, and no tool is called approved', async () => {
  await runCurious('listed', { outbound: {} }, []);
  await using visited = await world().open('/ui/w/listed/tools?tool=read');
  const { page } = visited;

  await page.getByRole('heading', { name: 'Suspicious texts of the server' }).waitFor();
  await page.getByRole('heading', { name: 'read', exact: true }).waitFor();

  const text = await page.locator('main').innerText();
  expect(text).not.toMatch(/changed what it offers|approved/i);
});

test('learning asks before it widens anything, and stays visible until it ends', async () => {
  await runCurious('learning', { outbound: { allow_host: ['allowed.example'], allow_port: [443] } }, []);
  await using visited = await world().open('/ui/w/learning/access');
  const { page } = visited;

  await page.getByRole('button', { name: 'Learn', exact: true }).click();
  await dialog(page).getByText('every public host', { exact: true }).waitFor();
  expect(await dialog(page).innerText()).toMatch(/only 1 host\s*→\s*every public host[^]*Duration/);
  expect(await dialog(page).getByLabel('Duration').locator('option').allInnerTexts()).toEqual([
    '15 minutes',
    '1 hour',
    '8 hours',
    'Until you stop it',
  ]);
  await dialog(page).getByLabel('Duration').selectOption('15 minutes');
  expect(await networkOf('learning')).toMatchObject({ hosts: ['allowed.example'] });
  await dialog(page).getByRole('button', { name: 'Start learning' }).click();
  for (const path of ['', '/logs', '/tools', '/configuration', '/network']) {
    await page.goto(`/ui/w/learning${path}`);
    await page.getByText(/^Learning began (just now|\d+ \w+ ago) and ends in 1[45] minutes/).waitFor();
    const text = await page.locator('main').innerText();
    // Lines of a log are shown as they are.
    if (path !== '/logs') expect(text).not.toMatch(/\d{4}-\d\d-\d\dT/);
  }
  await page.getByRole('button', { name: 'Stop learning' }).click();
  await dialog(page).getByRole('button', { name: 'Keep the old profile' }).click();

  await page.getByText(/^Learning began/).waitFor({ state: 'detached' });
  expect(await networkOf('learning')).toMatchObject({ hosts: ['allowed.example'] });
});

test('learning that ended by its time changes nothing, and offers its record', async () => {
  await runCurious('timed', { outbound: { allow_host: ['allowed.example'], allow_port: [443] } }, []);
  await world().api('PUT', '/workloads/timed/learning?seconds=2');
  await using visited = await world().open('/ui/w/timed/access');
  const { page } = visited;

  await page.getByText('Learning ended by its time.').waitFor();
  expect(await networkOf('timed')).toMatchObject({ hosts: ['allowed.example'] });
  await page.getByRole('button', { name: 'Review the record' }).click();
  await dialog(page).getByRole('button', { name: 'Keep the old profile' }).click();

  await page.getByText('Learning ended by its time.').waitFor({ state: 'detached' });
  expect(await networkOf('timed')).toMatchObject({ hosts: ['allowed.example'] });
});

test('a private address is allowed where every public host is, and no button leads nowhere', async () => {
  await runCurious('private', { outbound: { allow_port: [443] } }, [
    ['192.168.1.10', 443],
    ['169.254.169.254', 80],
  ]);
  await using visited = await world().open('/ui/w/private/network');
  const { page } = visited;
  const metadata = page.getByRole('row', { name: /169\.254\.169\.254/ });

  await metadata.getByText('Always denied').waitFor();
  expect(await metadata.getByRole('button', { name: /Allow/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Allow 192.168.1.10:443' }).click();
  await dialog(page).getByText('only 1 host').waitFor();
  expect(await dialog(page).innerText()).toMatch(/every public host\s*→\s*only 1 host[^]*\+ 192\.168\.1\.10/);
  await dialog(page).getByRole('button', { name: 'Save and restart' }).click();

  await expect
    .poll(() => networkOf('private'), { timeout: 30_000 })
    .toMatchObject({ hosts: ['192.168.1.10'] });
  await dialog(page).waitFor({ state: 'detached' });
});

test('the dialog for access is left without a keyboard, and nothing changes', async () => {
  await world().run('files');
  await using visited = await world().open('/ui/w/files/access', { viewport: { width: 390, height: 844 } });
  const { page } = visited;
  const dialog = page.getByRole('dialog', { name: 'Access to files' });

  await page.getByRole('button', { name: 'Change files' }).click();
  await dialog.getByLabel('Path on this machine 1').fill('/srv');
  await dialog.getByRole('button', { name: 'Discard' }).click();

  await dialog.waitFor({ state: 'detached' });
  await page.getByText('no files').waitFor();
});

test('several tools are hidden with one restart, after the user has seen the change', async () => {
  await world().run('hidden');
  await using visited = await world().open('/ui/w/hidden/access');
  const { page } = visited;
  const tools = async (): Promise<unknown> =>
    ((await (await world().api('GET', '/workloads/hidden')).json()) as { tools?: unknown }).tools;

  await page.getByRole('switch', { name: 'Offer ask' }).click();
  await page.getByRole('switch', { name: 'Offer slow' }).click();
  const changes = page.getByRole('group', { name: 'Changes of tools' });
  expect(await changes.innerText()).toMatch(/− ask\s+− slow\s+The server restarts/);
  expect(await tools()).toBeUndefined();
  await changes.getByRole('button', { name: 'Save and restart' }).click();

  await expect.poll(tools).toEqual(['form', 'sample', 'content', 'structured', 'regular', 'write']);
  await page.getByText('Clients get 6 of 8 tools.').waitFor();
});

test('links of earlier versions work, and the address keeps the tool, the filter, and the search', async () => {
  await world().run('linked');
  await using visited = await world().open('/ui/w/linked/edit');
  const { page } = visited;

  await page.waitForURL('**/ui/w/linked/configuration');
  await expect.poll(() => page.title()).toBe('Configuration – linked – ToolHive');
  await page.goto('/ui/w/linked/tools');
  await page.getByLabel('Filter tools, prompts, and resources').fill('w');
  await page.getByRole('button', { name: 'write', exact: true }).click();
  await page.waitForURL(/tools\?(?=.*q=w)(?=.*tool=write)/);
  await page.getByRole('link', { name: 'Now', exact: true }).click();
  await page.getByRole('link', { name: 'Logs', exact: true }).click();
  await page.getByLabel('Search in the log').fill('ready');
  await page.getByLabel('info', { exact: true }).uncheck();
  await page.waitForURL(/logs\?(?=.*q=ready)(?=.*hidden=info)/);
  await page.getByRole('link', { name: 'Configuration', exact: true }).click();
  await page.goBack();
  await expect.poll(() => page.getByLabel('Search in the log').inputValue()).toBe('ready');
  expect(await page.getByLabel('info', { exact: true }).isChecked()).toBe(false);
  await page.goBack();
  await page.goBack();

  await page.getByRole('heading', { name: 'write', exact: true }).waitFor();
  expect(await page.getByLabel('Filter tools, prompts, and resources').inputValue()).toBe('w');
});
