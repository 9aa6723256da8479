// @suite ui (in depth)
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { serve } from '../testing/thv.ts';
import { openWorld, uiServer, useBrowser, useWorld } from './world.ts';
import type { UiWorld } from './world.ts';

// Actions that another tab overtakes, and actions during which the daemon ends.

useBrowser();
/** For tests that do not end the daemon. */
const world = useWorld();

/** Begins an action that the daemon receives and never answers, and ends the daemon. */
async function endDuring(world: UiWorld, page: Page, action: () => Promise<unknown>): Promise<void> {
  const pid = await world.user.daemonPid();
  process.kill(pid, 'SIGSTOP');
  const sent = page.waitForRequest((request) => request.method() !== 'GET');
  await action();
  await sent;
  process.kill(pid, 'SIGKILL');
  await page.getByText('It reconnects automatically').waitFor();
}

/** Starts the daemon again, and returns the changes that the page has requested since. */
async function startAgain(world: UiWorld, page: Page): Promise<AsyncDisposable & { changes: string[] }> {
  const changes: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET' && !request.url().endsWith('/workloads/check'))
      changes.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  const successor = await serve(world.user, '--port', new URL(world.base).port);
  await page.getByText('It reconnects automatically').waitFor({ state: 'detached' });
  return { changes, [Symbol.asyncDispose]: () => successor[Symbol.asyncDispose]() };
}

test('a stop during which the daemon ends is not repeated, and the page shows the real state', async () => {
  await using world = await openWorld();
  await world.run('tester');
  await using visited = await world.open();
  const { page } = visited;
  const stop = page.getByRole('button', { name: 'Stop tester' });
  await stop.waitFor();

  await endDuring(world, page, () => stop.click());
  await page
    .getByRole('region', { name: 'Notifications' })
    .getByText(/^Cannot stop: /)
    .waitFor();
  await expect.poll(() => stop.getAttribute('aria-busy')).toBeNull();
  await using successor = await startAgain(world, page);

  await page.getByText('Running', { exact: true }).waitFor();
  expect(successor.changes).toEqual([]);
});

test('a start of a new server during which the daemon ends can be tried again', async () => {
  await using world = await openWorld();
  await using visited = await world.open('/ui/add?tab=package');
  const { page } = visited;
  await page.getByLabel(/^Package or image/).fill(uiServer);
  await page.getByLabel('Name').fill('tester');
  const run = page.getByRole('button', { name: 'Run', exact: true });

  await endDuring(world, page, () => run.click());
  await page.getByText('Cannot run the server').waitFor();
  expect(await page.getByRole('progressbar').count()).toBe(0);
  await using successor = await startAgain(world, page);

  expect(successor.changes).toEqual([]);
  expect(await page.getByLabel('Name').inputValue()).toBe('tester');
  await run.click();
  await page.getByRole('heading', { name: 'tester', level: 1 }).waitFor();
});

test('a call of a tool during which the daemon ends fails once, and the tester can be used again', async () => {
  await using world = await openWorld();
  await world.run('tester');
  await using visited = await world.open('/ui/w/tester/tools?tool=slow');
  const { page } = visited;
  const call = page.getByRole('button', { name: 'Call tool' });
  await call.click();
  await page.getByRole('button', { name: 'Cancel' }).waitFor();

  await world.user.killDaemon();
  await page.getByText('The call failed').waitFor();
  await using successor = await startAgain(world, page);

  expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  expect(successor.changes).toEqual([]);
  await page.getByRole('button', { name: 'structured', exact: true }).click();
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Call tool' }).click();
      return page.getByRole('region', { name: 'Result' }).innerText();
    })
    .toContain('total');
});

test('a setting that another tab has changed is shown before it is replaced', async () => {
  await using one = await world().open('/ui/settings');
  const other = await one.page.context().newPage();
  await other.goto('/ui/settings');
  const title = 'OpenTelemetry collector';
  await one.page.getByLabel(title, { exact: true }).fill('mine');

  await world().api('PUT', '/settings/otel-endpoint', { value: 'other.example:4318' });

  await one.page.getByRole('alert').getByText('other.example:4318').waitFor();
  expect(await one.page.getByLabel(title, { exact: true }).inputValue()).toBe('mine');
  await expect.poll(() => other.getByLabel(title, { exact: true }).inputValue()).toBe('other.example:4318');
  await one.page.getByRole('button', { name: `Use the current value of ${title}` }).click();
  expect(await one.page.getByLabel(title, { exact: true }).inputValue()).toBe('other.example:4318');
});

test('a secret that was replaced or removed elsewhere is announced in the dialog that replaces it', async () => {
  await world().api('POST', '/secrets', { provider_type: 'encrypted', password: 'correct horse' });
  await world().api('DELETE', '/secrets/default/keys/token'); // of an earlier attempt
  await world().api('POST', '/secrets/default/keys', { key: 'token', value: 'one' });
  await using visited = await world().open('/ui/secrets');
  const { page } = visited;
  await page.getByRole('button', { name: 'Replace token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Replace token' });
  await dialog.getByLabel(/^Value/).fill('three');

  await world().api('PUT', '/secrets/default/keys/token', { value: 'two' });
  await dialog
    .getByRole('alert')
    .getByText(/replaced elsewhere/)
    .waitFor();
  await world().api('DELETE', '/secrets/default/keys/token');
  await dialog
    .getByRole('alert')
    .getByText(/removed elsewhere/)
    .waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();

  await page.getByRole('button', { name: 'Replace token' }).waitFor();
});

test('the dialog for access to a server that is removed elsewhere says so, and the page keeps working', async () => {
  await world().run('removed');
  await using visited = await world().open('/ui/w/removed/access');
  const { page, errors } = visited;
  await page.getByRole('button', { name: 'Change files' }).click();
  const dialog = page.getByRole('dialog', { name: 'Access to files' });
  await dialog.waitFor();

  await world().user.mustThv('rm', 'removed');

  await dialog.getByRole('alert').getByText('This server was removed elsewhere').waitFor();
  expect(await dialog.getByText(/Cannot update/).count()).toBe(0);
  await page.keyboard.press('Escape');
  await page.getByText('This page keeps your input').waitFor();
  expect(errors).toEqual([]);
});
