import { openAuthorizationServer } from '@toolhive/remote/testing/authorization-server';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { expect, test } from 'vitest';
import { openWorld, useBrowser } from './world.ts';

useBrowser();

test('the sign-in button of a remote server leads to its sign-in page, and then the workload runs', async () => {
  await using authority = await openAuthorizationServer();
  await using remote = await openRemoteServer('modern', authority);
  await using world = await openWorld();
  const created = await world.api('POST', '/workloads', {
    name: 'notes',
    url: remote.url,
    oauth_config: { skip_browser: true },
  });
  expect([created.status, await created.text()]).toEqual([201, expect.stringContaining('notes')]);
  await using visited = await world.open('/ui/w/notes');
  const { page } = visited;

  const link = page.getByRole('link', { name: /^Sign in/ });
  await link.waitFor();
  const [signIn] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
  await signIn.getByText(/close/i).waitFor();

  await page.getByText('Running').first().waitFor();
  await link.waitFor({ state: 'detached' });
  expect(authority.redeemed).toHaveLength(1);
  expect(new URL(await signIn.evaluate(() => window.location.href)).hostname).toMatch(
    /127\.0\.0\.1|localhost/,
  );
});
