import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeUser } from '../testing/thv.ts';
import type { User } from '../testing/thv.ts';
import { openPage, useBrowser, violations } from './world.ts';

useBrowser({ isShared: false });

let user: User;
beforeAll(async () => {
  user = await makeUser();
});
afterAll(() => user[Symbol.asyncDispose]());

test('thv ui starts a daemon and opens a page that only its browser can use', async () => {
  const address = new URL((await user.mustThv('ui', '--no-browser')).trim());
  await using visited = await openPage(address.origin, `${address.pathname}${address.hash}`);
  const { page, errors } = visited;
  await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();

  expect(page.url()).toBe(`${address.origin}/ui/`);
  expect(errors).toEqual([]);
  const [cookie] = await page.context().cookies(`${address.origin}/api/`);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/api/', domain: '127.0.0.1' });
  const api = `${address.origin}/api/v1beta`;
  const headers = { cookie: `${cookie?.name}=${cookie?.value}` };
  const statusOf = async (changes: Record<string, string>): Promise<number> =>
    (await fetch(`${api}/workloads`, { headers: changes })).status;
  // Node.js sets no Sec-Fetch-Site of its own.
  expect(await statusOf({})).toBe(401);
  expect(await statusOf(headers)).toBe(401);
  expect(await statusOf({ ...headers, 'sec-fetch-site': 'same-origin' })).toBe(200);
  expect(await statusOf({ ...headers, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await statusOf({ ...headers, 'sec-fetch-site': 'cross-site' })).toBe(403);
});

test('a sign-in code works once', async () => {
  const address = new URL((await user.mustThv('ui', '--no-browser')).trim());
  const code = address.hash.slice('#code='.length);
  const redeem = (given: string): Promise<Response> =>
    fetch(`${address.origin}/api/v1beta/ui/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: given }),
    });

  const [first, second, guessed] = [await redeem(code), await redeem(code), await redeem('guess')];

  expect([first.status, second.status, guessed.status]).toEqual([204, 401, 401]);
  expect(await second.text()).toContain('run thv ui again');
});

test('without a sign-in, the page says what to do', async () => {
  const address = new URL((await user.mustThv('ui', '--no-browser')).trim());

  await using visited = await openPage(address.origin, '/ui/');

  const { page } = visited;
  await page.getByRole('heading', { name: 'Sign in to use this page' }).waitFor();
  // One message, and no screen that fails or offers what cannot be done.
  expect(await page.locator('main').innerText()).not.toMatch(/Cannot load|Add a server/);
  expect(await violations(page)).toEqual([]);
});

test('a code from a terminal signs in, and a tab that was open before continues by itself', async () => {
  const address = new URL((await user.mustThv('ui', '--no-browser')).trim());
  await using visited = await openPage(address.origin, '/ui/settings');
  const { page } = visited;
  await page.getByText('Sign in to use this page').waitFor();
  const old = await page.context().newPage();
  await old.goto(`${address.origin}/ui/`);
  await old.getByText('Sign in to use this page').waitFor();
  const field = page.getByLabel('Code, or the whole address');
  const button = page.getByRole('button', { name: 'Sign in', exact: true });

  await field.fill('no code at all');
  expect(await button.isDisabled()).toBe(true);
  await field.fill('a-code-that-nobody-made');
  await button.click();
  await page.getByText(/^Cannot sign in/).waitFor();
  await field.fill(address.href);
  await button.click();

  await page.getByText('minimum-package-age').first().waitFor();
  await old.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();
});

test('the page is served with a strict policy, and contains nothing of others', async () => {
  const { origin } = new URL((await user.mustThv('ui', '--no-browser')).trim());

  const page = await fetch(`${origin}/ui/`);
  const screen = await fetch(`${origin}/ui/w/some.server/tools`);
  const plain = await fetch(`${origin}/ui/icon.svg`, { headers: { 'accept-encoding': 'identity' } });
  const missing = await fetch(`${origin}/ui/assets/nothing.js`);

  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  // Apps are on a port of this machine, and nothing else of the policy names a host.
  const withoutApps = policy.replace(/ frame-src http:\/\/localhost:\d+\/frame\/;/, '');
  expect(withoutApps).not.toMatch(/unsafe|\*|https?:|frame-src/);
  expect(await page.text()).not.toMatch(/<script(?![^>]*src=)|style=|https?:\/\//);
  expect(screen.status).toBe(200);
  expect(await plain.text()).toBe(
    await readFile(new URL('../../apps/web/public/icon.svg', import.meta.url), 'utf8'),
  );
  expect(missing.status).toBe(404);
});
