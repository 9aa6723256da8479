import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { connectTo } from '../testing/mcp.ts';
import { root, serve, testServer } from '../testing/thv.ts';
import { openWorld, useBrowser } from './world.ts';
import type { UiWorld } from './world.ts';

// Everyday jobs, each with the most clicks that it may need. Typing is free, and so is the Enter key.

useBrowser();

/** A person at the page, whose clicks are counted. */
interface Visitor {
  page: Page;
  click: (name: string, kind?: 'button' | 'link' | 'switch' | 'checkbox') => Promise<void>;
  choose: (label: string, option: string) => Promise<void>;
  type: (label: string | RegExp, text: string) => Promise<void>;
}

interface Job {
  /** The most clicks. */
  clicks: number;
  /** Where the job begins: the list, or the workload that it is about. */
  start: string;
  steps: (visitor: Visitor) => Promise<void>;
  /** Fails unless the job has its effect. */
  isDone: (world: UiWorld, page: Page, began: number) => Promise<unknown>;
}

const jobs: Readonly<Record<string, Job>> = {
  'find why a server fails, and repair it': {
    clicks: 2,
    start: '/ui/w/failing',
    async steps({ page, click, type }) {
      await page.getByText('WEATHER_API_KEY is not set').first().waitFor();
      await click('Enter the value');
      await type('Value of WEATHER_API_KEY', 'battery staple');
      await click('Save and restart');
    },
    isDone: (world) => isRunning(world, 'failing'),
  },
  'give a server a secret': {
    clicks: 4,
    start: '/ui/w/curious',
    async steps({ click, type }) {
      await click('Access', 'link');
      await click('Add a secret');
      await type('Name of variable 1', 'API_KEY');
      await type('Value of API_KEY', 'correct horse');
      await click('Save and restart');
    },
    isDone: (world) => hasSecret(world, 'curious'),
  },
  'allow one more host': {
    clicks: 3,
    start: '/ui/w/curious',
    async steps({ click }) {
      await click('Access', 'link');
      await click('Allow 192.168.1.10:443');
      await click('Save');
    },
    isDone: async (world) => {
      await expect
        .poll(() => read(world, '/workloads/curious/permissions'))
        .toMatchObject({ network: { hosts: expect.arrayContaining(['192.168.1.10']) } });
    },
  },
  'see what a server did in the last hour': {
    clicks: 2,
    start: '/ui/',
    async steps({ page, click }) {
      await click('curious', 'link');
      await page.getByText(/^\d+ calls in the last hour/).waitFor();
      await click('All calls', 'link');
    },
    isDone: (_world, page) =>
      page.getByRole('grid', { name: 'Calls' }).getByText('execute').first().waitFor(),
  },
  'connect Cursor': {
    clicks: 3,
    start: '/ui/',
    async steps({ page, click }) {
      await click('Clients', 'link');
      await page.getByRole('heading', { name: 'Cursor editor' }).waitFor();
      await click('default', 'checkbox');
      await click('Connect');
    },
    isDone: async ({ user }) => {
      await expect
        .poll(() => readFile(join(user.home, '.cursor/mcp.json'), 'utf8').catch(() => ''))
        .toContain('curious');
    },
  },
  'rename a tool': {
    clicks: 3,
    start: '/ui/w/tester',
    async steps({ page, click, type }) {
      await click('Access', 'link');
      await click('Rename slow');
      await type(/^Name that clients see/, 'patient');
      await page.getByText('The server restarts').waitFor();
      await click('Save and restart');
    },
    isDone: async (world) => {
      await expect
        .poll(() => read(world, '/workloads/tester'))
        .toMatchObject({ tools_override: { slow: { name: 'patient' } } });
    },
  },
  'test a tool with nested JSON': {
    clicks: 3,
    start: '/ui/w/tester',
    async steps({ click, type }) {
      await click('Access', 'link');
      await click('form', 'link');
      await type(
        'JSON',
        JSON.stringify({ message: 'hello', place: { city: 'Zürich' }, tags: [{ name: 'a' }] }),
      );
      await click('Call tool');
    },
    isDone: async (_world, page) => {
      await expect
        .poll(() => page.getByRole('region', { name: 'Result' }).innerText())
        .toContain('"city": "Zürich"');
    },
  },
  'move a server to another group': {
    clicks: 3,
    start: '/ui/w/tester',
    async steps({ click, choose }) {
      await click('Configuration', 'link');
      await choose('Group', 'research');
      await click('Save and restart');
    },
    isDone: async (world) => {
      await expect.poll(() => read(world, '/workloads/tester')).toMatchObject({ group: 'research' });
    },
  },
  'update a server': {
    clicks: 3,
    start: '/ui/w/old',
    async steps({ click }) {
      await click('Configuration', 'link');
      await click('Look for a newer version');
      await click('Update to 1.1.0');
    },
    isDone: async (world) => {
      await expect
        .poll(() => read(world, '/workloads/old'), { timeout: 60_000 })
        .toMatchObject({ package: 'npx://versioned@1.1.0' });
    },
  },
  'restart everything': {
    clicks: 3,
    start: '/ui/',
    async steps({ click }) {
      await click('Select all: Servers', 'checkbox');
      await click('Restart');
    },
    isDone: async (world, _page, began) => {
      for (const name of ['tester', 'curious', 'old', 'failing'])
        await expect.poll(() => lastStart(world, name), { timeout: 60_000 }).toBeGreaterThan(began);
    },
  },
};

test('each of ten everyday jobs needs few clicks and has no dead end', { timeout: 400_000 }, async () => {
  await using published = await publish();
  await using world = await openWorld({
    env: published.env,
    prepare: ({ home }) => mkdir(join(home, '.cursor')),
  });
  await world.api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await world.api('POST', '/groups', { name: 'research' });
  await runAll(world);
  const found: Record<string, unknown> = {};

  for (const [name, job] of Object.entries(jobs)) found[name] = await perform(world, name, job);

  expect(found).toEqual(Object.fromEntries(Object.keys(jobs).map((name) => [name, 'done'])));
  expect(Object.keys(jobs)).toHaveLength(10);
});

const giveSecret = jobs['give a server a secret'];

test('a server gets its first secret where nothing is set up and no keyring exists', async () => {
  await using world = await openWorld();
  await world.run('curious');

  const found = await perform(world, 'first secret', required(giveSecret));

  expect(found).toBe('done');
  expect(await read(world, '/secrets/default')).toMatchObject({ provider_type: 'encrypted', locked: false });
});

test('a server gets a secret from a locked store, which is unlocked in place', async () => {
  await using world = await openWorld();
  await world.api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await world.run('curious');
  await world.user.killDaemon();
  await using _successor = await serve(world.user, '--port', new URL(world.base).port);
  expect(await read(world, '/secrets/default')).toMatchObject({ locked: true });

  const found = await perform(world, 'secret in a locked store', {
    ...required(giveSecret),
    async steps({ click, type }) {
      await click('Access', 'link');
      await click('Add a secret');
      await type('Password', 'correct horse');
      await click('Unlock');
      await type('Name of variable 1', 'API_KEY');
      await type('Value of API_KEY', 'correct horse');
      await click('Save and restart');
    },
  });

  expect(found).toBe('done');
});

/** Does a job on a page of its own. Returns why it went wrong. */
async function perform(world: UiWorld, name: string, { start, steps, isDone, clicks }: Job): Promise<string> {
  await using visited = await world.open(start, { viewport: { width: 1440, height: 900 } });
  const { page, errors } = visited;
  page.setDefaultTimeout(20_000);
  let clicked = 0;
  const began = Date.now();
  const control = (label: string, kind: NonNullable<Parameters<Visitor['click']>[1]>): Locator => {
    const dialog = page.getByRole('dialog');
    return page
      .locator('dialog[open], main, nav[aria-label=Main]')
      .getByRole(kind, { name: label, exact: true })
      .and(page.locator(':visible'))
      .or(dialog.getByRole(kind, { name: label, exact: true }))
      .last();
  };
  try {
    await steps({
      page,
      async click(label, kind = 'button') {
        clicked++;
        await control(label, kind).click();
      },
      async choose(label, option) {
        clicked++;
        await page.getByLabel(label, { exact: true }).selectOption(option);
      },
      type: (label, text) =>
        page
          .getByLabel(label, typeof label === 'string' ? { exact: true } : {})
          .last()
          .fill(text),
    });
    await isDone(world, page, began);
    expect(errors).toEqual([]);
  } catch (failure) {
    return `${name}: ${String(failure)}\n${await page.locator('body').innerText()}`;
  }
  return clicked > clicks ? `${clicked} clicks, which are more than ${clicks}` : 'done';
}

async function read({ api }: UiWorld, path: string): Promise<unknown> {
  return (await api('GET', path)).json();
}

/** When a server has last answered after a start. */
async function lastStart({ api }: UiWorld, name: string): Promise<number> {
  const log = await (await api('GET', `/workloads/${name}/proxy-logs?format=ndjson`)).text();
  const last = log.split('\n').findLast((line) => line.includes('workload runs'));
  return last === undefined ? 0 : Date.parse((JSON.parse(last) as { at: string }).at);
}

async function isRunning(world: UiWorld, name: string): Promise<void> {
  await expect
    .poll(() => read(world, `/workloads/${name}`), { timeout: 30_000 })
    .toMatchObject({ status: 'running' });
}

async function hasSecret(world: UiWorld, name: string): Promise<void> {
  await expect
    .poll(() => read(world, `/workloads/${name}`), { timeout: 30_000 })
    .toMatchObject({ secrets: [{ target: 'API_KEY' }] });
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('this job does not exist');
  return value;
}

/** Two versions of a package in a registry of its own. */
async function publish(): Promise<AsyncDisposable & { env: NodeJS.ProcessEnv }> {
  const { mkdtemp, rm } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const place = await mkdtemp(join(tmpdir(), 'versions-'));
  const folders = await Promise.all(
    ['1.0.0', '1.1.0'].map((version) => writePackage(join(place, version), { name: 'versioned', version })),
  );
  const registry = await openNpmRegistry([...folders, join(root, 'packages/test-servers')]);
  return {
    env: { npm_config_registry: registry.url, npm_config_cache: undefined },
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await rm(place, { recursive: true });
    },
  };
}

/** The server for these tests as a package, perhaps with something before it. */
async function writePackage(folder: string, manifest: object, before = ''): Promise<string> {
  await mkdir(folder, { recursive: true });
  const server = await readFile(join(root, 'e2e/ui/server.js'), 'utf8');
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ ...manifest, type: 'module', bin: 'main.js' }),
  );
  await writeFile(join(folder, 'main.js'), `#!/usr/bin/env node\n${before}\n${server}`, { mode: 0o755 });
  return folder;
}

/** A tester, a server that was refused a host, one that misses a variable, and an old one. */
async function runAll(world: UiWorld): Promise<void> {
  const { user, create } = world;
  await world.run('tester');
  await runCurious(world);
  const check = `if (!process.env.WEATHER_API_KEY) { console.error('Error: WEATHER_API_KEY is not set'); process.exit(1); }`;
  const failing = await writePackage(
    join(user.home, 'failing'),
    { name: 'failing', version: '1.0.0' },
    check,
  );
  await user.thv('run', '--name', 'failing', '--permission-profile', 'none', `npx://${failing}`);
  await create({ name: 'old', image: 'npx://versioned@1.0.0', permission_profile: builtInProfiles.none });
}

async function runCurious({ create }: UiWorld): Promise<void> {
  const network = { outbound: { allow_host: ['allowed.example'], allow_port: [443] } };
  const request = { name: 'curious', image: testServer, cmd_arguments: ['echo'] };
  await using client = await connectTo(await create({ ...request, permission_profile: { network } }));
  const ask = `require('net').connect({ host: '192.168.1.10', port: 443 }).on('error', () => {})`;
  await client.call('execute', { command: '/opt/toolhive/bin/node', args: ['-e', ask] });
}
