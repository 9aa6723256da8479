// @suite ui (in depth)
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { thvStart } from '../testing/thv.ts';
import { openWorld, uiServer, useBrowser, useWorld } from './world.ts';
import type { UiWorld } from './world.ts';

useBrowser();
const world = useWorld({}, ({ api }) =>
  api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' }),
);

/** The problem that belongs to the field with the focus. */
const problemOfFocusedField = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => {
    const field = document.activeElement;
    const notes = (field?.getAttribute('aria-describedby') ?? '').split(' ');
    if (field?.getAttribute('aria-invalid') !== 'true') return undefined;
    return notes
      .map((id) => document.getElementById(id)?.querySelector('.problem')?.textContent ?? '')
      .join('');
  });

const run = (page: Page): Promise<void> => page.getByRole('button', { name: 'Run', exact: true }).click();

test('the form of a package shows each problem beside its field, and leads to the first one', async () => {
  await using visited = await world().open('/ui/add?tab=package');
  const { page } = visited;
  await page.getByLabel('Package or image').fill('npx://nothing');
  await page.getByLabel('Name').fill('a..b');
  await page.getByRole('button', { name: 'Add a path' }).click();
  await page.getByLabel('Path on this machine 1').fill('/nowhere/at/all');

  await run(page);
  await expect.poll(() => problemOfFocusedField(page)).toContain('a server name cannot contain ..');
  expect(await page.getByLabel('Name').evaluate((field) => field === document.activeElement)).toBe(true);

  await page.getByLabel('Name').fill('ab');
  expect(await page.getByLabel('Name').getAttribute('aria-invalid')).toBe('false');
  await run(page);
  await expect.poll(() => problemOfFocusedField(page)).toContain('/nowhere/at/all');
  const path = page.getByLabel('Path on this machine 1');
  expect(await path.evaluate((field) => field === document.activeElement)).toBe(true);
});

test('a problem of a hidden field opens the section of the field', async () => {
  await using visited = await world().open('/ui/add?tab=package');
  const { page } = visited;
  await page.getByLabel('Package or image').fill('npx://nothing');
  await page.getByText('Arguments, limits, and more').click();
  await page.getByLabel('Memory limit').fill('1k');
  await page.getByText('Arguments, limits, and more').click();

  await run(page);

  await expect.poll(() => problemOfFocusedField(page)).toContain('"1k" is too small');
  expect(await page.getByLabel('Memory limit').isVisible()).toBe(true);
});

test('the forms of remote servers and registries show a problem beside the URL', async () => {
  await using visited = await world().open('/ui/add?tab=remote');
  const { page } = visited;
  await page.getByLabel('URL of the remote server').fill('https://user:password@mcp.example.com/mcp');
  await run(page);
  await expect.poll(() => problemOfFocusedField(page)).toContain('is not the URL of a remote server');

  await page.goto('/ui/registries');
  await page.getByLabel('URL or path').fill('/nowhere/registry.json');
  await page.getByRole('button', { name: 'Use this registry' }).click();
  await expect.poll(() => problemOfFocusedField(page)).toContain('/nowhere/registry.json');
});

const secretsOf = async ({ api }: UiWorld): Promise<string[]> => {
  const { keys } = (await (await api('GET', '/secrets/default/keys')).json()) as { keys: { key: string }[] };
  return keys.map(({ key }) => key);
};

/** What a test that failed has left behind. */
async function removeSecrets(): Promise<void> {
  for (const key of await secretsOf(world())) await world().api('DELETE', `/secrets/default/keys/${key}`);
}

test('the next attempt uses a secret again, and it is removed when the user leaves', async () => {
  await removeSecrets();
  await using visited = await world().open('/ui/add/default/weather');
  const { page } = visited;
  await page.getByLabel(/^WEATHER_KEY/).fill('battery staple 123');
  await page.getByRole('button', { name: 'Add a path' }).click();
  await page.getByLabel('Path on this machine 1').fill('/nowhere/at/all');

  for (const value of ['battery staple 123', 'battery staple 456']) {
    await page.getByLabel(/^WEATHER_KEY/).fill(value);
    await run(page);
    await expect.poll(() => problemOfFocusedField(page)).toContain('/nowhere/at/all');
    expect(await secretsOf(world())).toEqual(['weather-weather-key']);
  }
  await page.getByRole('link', { name: 'Groups' }).click();

  await expect.poll(() => secretsOf(world())).toEqual([]);
});

test('a tab that is closed after a failed start leaves no secret', async () => {
  await removeSecrets();
  await using visited = await world().open('/ui/add/default/weather');
  const { page } = visited;
  await page.getByLabel(/^WEATHER_KEY/).fill('battery staple 123');
  await page.getByRole('button', { name: 'Add a path' }).click();
  await page.getByLabel('Path on this machine 1').fill('/nowhere/at/all');
  await run(page);
  await expect.poll(() => problemOfFocusedField(page)).toContain('/nowhere/at/all');

  await page.close();

  await expect.poll(() => secretsOf(world())).toEqual([]);
});

test('the copied commands run the same workload', async () => {
  await using world = await openWorld();
  await world.api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await using visited = await world.open('/ui/add/default/weather', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page } = visited;
  await page.getByLabel(/^WEATHER_KEY/).fill('battery staple 123');
  await page.getByLabel(/^UNITS/).fill("the captain's");
  await page.getByRole('radio', { name: 'Only these hosts' }).check();
  await page.getByRole('textbox', { name: 'Hosts' }).fill('api.weather.example\n*.maps.example');

  await page.getByRole('button', { name: 'Copy as thv run' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const commands = await page.evaluate(() => navigator.clipboard.readText());

  const thv = [process.execPath, ...thvStart].map((word) => `'${word}'`).join(' ');
  const script = `thv() { if [ "$1" = secret ]; then echo 'battery staple 123' | ${thv} "$@"; else ${thv} "$@"; fi; }\n${commands}`;
  await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: world.user.home,
    env: world.user.env,
  });
  expect(commands).not.toContain('battery');
  expect(await (await world.api('GET', '/workloads/weather')).json()).toMatchObject({
    env_vars: { UNITS: "the captain's" },
    secrets: [{ name: 'WEATHER_KEY', target: 'WEATHER_KEY' }],
    permission_profile: {
      network: { outbound: { allow_host: ['api.weather.example', '*.maps.example'], allow_port: [443] } },
    },
  });
});

test('a pasted command becomes a form, which asks for its variables', async () => {
  await using visited = await world().open('/ui/add?tab=paste');
  const { page } = visited;
  await page
    .getByLabel('Configuration or command')
    .fill('$ docker run -i --rm -e GITHUB_TOKEN ghcr.io/acme/notes --read-only');

  await page.getByRole('button', { name: 'Continue' }).click();

  await page.getByRole('heading', { name: 'acme-notes' }).waitFor();
  expect(await page.getByLabel('Package or image').inputValue()).toBe('ghcr.io/acme/notes');
  await page.getByText('GITHUB_TOKEN').first().waitFor();
});

test.each([
  ['runs', 'tester', uiServer, 'tester runs'],
  ['cannot run', 'broken', 'npx://toolhive-test-servers@99.0.0', 'Cannot run broken: '],
])(
  'a user who leaves the form stays where they are, and learns that the server %s',
  async (_, name, source, message) => {
    await world().remove(name);
    await using visited = await world().open('/ui/add?tab=package');
    const { page } = visited;
    const left = Promise.withResolvers<void>();
    await page.route('**/api/v1beta/workloads', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await left.promise;
      return route.continue();
    });
    await page.getByLabel('Package or image').fill(source);
    await page.getByLabel('Name').fill(name);

    await run(page);
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    left.resolve();

    const toast = page.getByRole('region', { name: 'Notifications' }).getByText(message);
    await toast.waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/settings');
  },
);
