// @suite e2e (in depth)
import type { Workload } from '@toolhive/contract/workload';
import { openAuthorizationServer } from '@toolhive/remote/testing/authorization-server';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import type { TestClient } from './testing/mcp.ts';
import { startCommand } from './testing/running.ts';
import { agree } from './testing/sign-in.ts';
import { makeUser, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// The claims of the page about lost sign-ins. A refresh token is good for one use here, so a second use of it would
// end the sign-in of everyone.

const clientCount = 20;
const expiries = 3;

test.each(['legacy', 'modern'] as const)(
  '20 clients of a %s server share one sign-in: each expiry causes one refresh, and no client notices',
  async (generation) => {
    await using authority = await openAuthorizationServer({
      given: (tokens) => ({ ...tokens, expires_in: authority.redeemed.length > expiries ? 3600 : 4 }),
    });
    await using remote = await openRemoteServer(generation, authority);
    await using user = await makeUser();
    const url = await signIn(user, remote.url);
    await using opened = new AsyncDisposableStack();
    const clients: TestClient[] = [];
    for (let count = 0; count < clientCount; count += 1) clients.push(opened.use(await connectTo(url)));

    // All of them call on and on, while the token expires three times.
    const answers: string[] = [];
    const failures: unknown[] = [];
    const isOver = (): boolean => authority.redeemed.length > expiries;
    await Promise.all(
      clients.map(async (client) => {
        while (!isOver())
          await client.call('test_simple_text').then(
            ({ text }) => answers.push(text),
            (error: unknown) => failures.push(error),
          );
      }),
    );

    const used = authority.redeemed.slice(1).map((body) => body.get('refresh_token'));
    expect(failures.map(String).join('\n')).toBe('');
    expect(new Set(answers).size).toBe(1);
    expect(used).toHaveLength(expiries);
    expect(used).not.toContain(null);
    expect(new Set(used).size).toBe(used.length);
    expect(authority.registrations).toHaveLength(1);
    expect(authority.asked).toHaveLength(1);
  },
);

/** Runs a remote server, signs in, and returns the URL for clients. */
async function signIn(user: User, url: string): Promise<string> {
  const words = ['run', url, '--name', 'shared', '--remote-auth-skip-browser'];
  await using running = startCommand(user, words);
  await agree(await running.printed(/sign in (?:for .+ )?at (\S+)/));
  await running.ended;
  let shared: Workload | undefined;
  await until(async () => {
    [shared] = JSON.parse(await user.mustThv('list', '--format', 'json')) as Workload[];
    return shared?.status === 'running' && shared.sign_in === undefined;
  });
  return shared?.url ?? '';
}
