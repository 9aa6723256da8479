// @suite ui (in depth)
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWorld, useBrowser, useWorld, violations } from './world.ts';
import type { UiWorld } from './world.ts';

useBrowser();
const world = useWorld({ prepare: ({ home }) => mkdir(join(home, '.cursor')) }, ({ run }) => run('tester'));

const modes = [
  { colorScheme: 'light', forcedColors: 'none' },
  { colorScheme: 'dark', forcedColors: 'none' },
  { colorScheme: 'light', forcedColors: 'active' },
] as const;

/** Every screen, and a text that is on it when it has loaded. */
const screens = [
  ['/ui/', 'tester'],
  ['/ui/welcome', 'Run a server'],
  ['/ui/add', 'Tells the weather.'],
  ['/ui/add?tab=package', 'Package or image'],
  ['/ui/add?tab=remote', 'URL of the remote server'],
  ['/ui/add?tab=paste', 'Configuration or command'],
  ['/ui/add/default/weather', 'Can reach only api.weather.example'],
  ['/ui/w/tester', 'Recent calls'],
  ['/ui/w/tester/access', 'no files'],
  ['/ui/w/tester/tools', 'Try it'],
  ['/ui/w/tester/traffic', 'Pause'],
  ['/ui/w/tester/network', 'has not tried to reach any host'],
  ['/ui/w/tester/logs', 'ready'],
  ['/ui/w/tester/configuration', 'Nothing is changed.'],
  ['/ui/groups', 'default'],
  ['/ui/groups/default', 'tester'],
  ['/ui/clients', 'Cursor editor'],
  ['/ui/secrets', 'Secrets are not set up'],
  ['/ui/registries', 'registry.json'],
  ['/ui/activity', 'created the server tester'],
  ['/ui/doctor', 'Checked'],
  ['/ui/settings', 'minimum-package-age'],
  ['/ui/nothing/here', 'This screen does not exist'],
] as const;

test(
  'every screen shows its data, has no accessibility fault in any mode, and sends no request to other hosts',
  { timeout: 400_000 },
  async () => {
    await using visited = await world().open();
    const { page, errors, foreign } = visited;
    const found: string[] = [];
    const titles: string[] = [];

    for (const [path, text] of screens) {
      await page.goto(path);
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
      for (const mode of modes) {
        await page.emulateMedia(mode);
        const problems = await violations(page, { onlyColors: mode !== modes[0] });
        found.push(...problems.map((problem) => `${path} ${JSON.stringify(mode)} ${problem}`));
      }
      expect(await page.title()).toMatch(/ToolHive$/);
      titles.push(await page.title());
    }

    expect(found).toEqual([]);
    // Each tab of a browser tells which screen of the workload it shows.
    const ofWorkload = titles.filter((title) => title.includes('tester'));
    expect(new Set(ofWorkload).size).toBe(7);
    expect(errors).toEqual([]);
    expect(foreign).toEqual([]);
  },
);

test(
  'no screen needs to be scrolled sideways at 320 pixels, which is also 400 % zoom',
  { timeout: 200_000 },
  async () => {
    await using visited = await world().open('/ui/', { viewport: { width: 320, height: 700 } });
    const { page } = visited;
    const tooWide: string[] = [];

    for (const [path, text] of screens) {
      await page.goto(path);
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 320) tooWide.push(`${path} is ${width} pixels wide`);
    }

    expect(tooWide).toEqual([]);
  },
);

/** Screens whose data has an operation of its own, and what it is called in messages. */
const loading = [
  ['/ui/', '/workloads?all=true', 'the servers'],
  ['/ui/w/tester', '/workloads/tester', 'the server'],
  ['/ui/w/tester/access', '/workloads/tester/permissions', 'the permissions'],
  ['/ui/w/tester/tools', '/workloads/tester/capabilities', 'the tools'],
  ['/ui/w/tester/traffic', '/workloads/tester/traffic', 'the traffic'],
  ['/ui/w/tester/network', '/workloads/tester/network', 'the connections'],
  ['/ui/add', '/registry/default/servers', 'the registry'],
  ['/ui/groups', '/groups', 'the groups'],
  ['/ui/clients', '/discovery/clients', 'the clients'],
  ['/ui/secrets', '/secrets/default', 'the secrets'],
  ['/ui/registries', '/registry', 'the registries'],
  ['/ui/activity', '/audit', 'the activity'],
  ['/ui/doctor', '/diagnosis', 'the diagnosis'],
  ['/ui/settings', '/settings', 'the settings'],
] as const;

test(
  'screens show that they load, why they cannot, and load again when asked',
  { timeout: 200_000 },
  async () => {
    await using visited = await world().open();
    const { page } = visited;

    for (const [path, operation, what] of loading) {
      const isMeant = (url: URL): boolean =>
        `${url.pathname}${url.search}`.startsWith(`/api/v1beta${operation}`) &&
        url.pathname.endsWith(operation.replace(/\?.*/, ''));
      const released = Promise.withResolvers<void>();
      let isFailing = true;
      await page.route(isMeant, async (route) => {
        await released.promise;
        if (isFailing)
          await route.fulfill({
            status: 503,
            contentType: 'text/plain',
            body: 'the disk is asleep\nhint: wake it\n',
          });
        else await route.continue();
      });
      await page.goto(path);

      await page.getByText(`Loading ${what}`).first().waitFor({ state: 'attached' });
      released.resolve();
      await page.getByText(`Cannot load ${what}`).first().waitFor();
      expect(await page.locator('main').innerText()).toMatch(/The disk is asleep\.\s+Fix: wake it/);
      isFailing = false;
      // Screens that load again by themselves may be faster.
      await page
        .getByRole('button', { name: 'Try again' })
        .first()
        .click({ timeout: 2_000 })
        .catch(() => {});
      await page.getByText(`Cannot load ${what}`).waitFor({ state: 'detached' });
      await page.unroute(isMeant);
    }
  },
);

test('an empty daemon offers servers that need no key', async () => {
  await using world = await openWorld();
  await using visited = await world.open();
  const { page } = visited;

  await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();
  await page.getByRole('link', { name: 'everything' }).click();

  await page.getByRole('heading', { name: 'Run everything' }).waitFor();
  expect(await page.locator('aside').innerText()).toContain('Cannot use the network');
});

test('the form of a registry entry stores a secret, runs the server, and shows it', async () => {
  await using world = await openWorld();
  await world.api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await using visited = await world.open('/ui/add/default/weather');
  const { page } = visited;
  await page.getByLabel(/^WEATHER_KEY/).fill('battery staple 123');

  await page.getByRole('button', { name: 'Run', exact: true }).click();

  await page.waitForURL('**/ui/w/weather');
  const details = await workloadOf(world, 'weather');
  expect(details).toMatchObject({
    status: expect.stringMatching(/running|starting/),
    secrets: [{ name: 'weather-weather-key', target: 'WEATHER_KEY' }],
    env_vars: { UNITS: 'metric' },
  });
  expect(JSON.stringify(details)).not.toContain('battery');
  expect(await page.content()).not.toContain('battery');
});

test('a directory with credentials needs consent before the server starts', async () => {
  await using visited = await world().open('/ui/add/default/everything');
  const { page } = visited;
  await page.getByRole('button', { name: 'Add a path' }).click();
  await page.getByLabel('Path on this machine 1').fill('/etc');
  await page.getByText('High risk').waitFor();

  await page.getByRole('button', { name: 'Run', exact: true }).click();

  const consent = page.getByRole('checkbox', { name: /I accept that it gets a mount/ });
  await consent.waitFor();
  expect((await world().api('GET', '/workloads/everything')).status).toBe(404);
  expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true);
  await consent.check();
  expect(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(false);
});

test('an edit shows what it changes, and keeps what it does not show', async () => {
  await world().run('edited', 'first');
  await world().api('PUT', '/workloads/edited/tool-pins/mode', { mode: 'block' });
  await using visited = await world().open('/ui/w/edited/edit');
  const { page } = visited;
  const before = await workloadOf(world(), 'edited');
  await page.getByText('Arguments, limits, and more').click();

  await page.getByLabel('Arguments').fill('first\nsecond');
  await page.getByText('cmd arguments').waitFor();
  await page.getByRole('button', { name: 'Save and restart' }).click();
  await page.waitForURL('**/ui/w/edited');

  const after = await workloadOf(world(), 'edited');
  expect(after['cmd_arguments']).toEqual(['first', 'second']);
  for (const key of ['permission_profile', 'tool_pinning', 'group', 'sessions', 'image', 'proxy_port'])
    expect([key, after[key]]).toEqual([key, before[key]]);
});

test('removal can be undone, and happens otherwise', async () => {
  await world().run('first');
  await world().run('second');
  await using visited = await world().open();
  const { page } = visited;
  const row = page.getByRole('row', { name: /first/ });
  const remove = async (): Promise<void> => {
    await row.getByRole('button', { name: 'Actions for first' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await row.waitFor({ state: 'detached' });
  };

  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row.waitFor();
  await remove();
  await page.getByText('Removing first').waitFor({ state: 'detached' });

  await expect
    .poll(async () =>
      (
        (await (await world().api('GET', '/workloads?all=true')).json()) as { workloads: { name: string }[] }
      ).workloads.map(({ name }) => name),
    )
    .toEqual(expect.not.arrayContaining(['first']));
  expect((await workloadOf(world(), 'second'))['status']).toBe('running');
});

async function workloadOf({ api }: UiWorld, name: string): Promise<Record<string, unknown>> {
  return (await (await api('GET', `/workloads/${name}`)).json()) as Record<string, unknown>;
}
