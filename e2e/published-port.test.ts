import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { startCommand } from './testing/running.ts';
import { testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// A server in the sandbox whose sign-in page sends the browser to a port of the server.

let user: User;

beforeAll(async () => {
  user = await openUsedHomes().take();
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
});

/** A server that answers after its sign-in, with its flags. */
const signingIn = (name: string, port: number, ...flags: string[]): string[] => [
  'run',
  '--name',
  name,
  ...flags,
  testServer,
  '--',
  'signs-in',
  String(port),
];

test('a server starts when the browser comes back from its sign-in page to its published port', async () => {
  const port = await testPort();
  await using running = startCommand(user, signingIn('calendar', port, '--publish', String(port)));

  const page = await running.printed(/the server asks you to sign in at (\S+)/);
  const callback = new URL(page).searchParams.get('redirect_uri') ?? '';
  const answer = await fetch(`${callback}?code=1`).then((response) => response.text());
  const code = await running.ended;
  await using client = await connectTo(/http:\S+/.exec(running.stdout())?.[0] ?? '');

  expect([answer, code]).toEqual(['signed in', 0]);
  expect(running.stderr()).toContain(`WARNING: the server itself answers on port ${port}, past its proxy`);
  expect((await client.call('echo', { message: 'here' })).text).toBe('here');
});

test('a start that waits for an answer that cannot come names the flag at once', async () => {
  const port = await testPort();
  await using running = startCommand(user, signingIn('mail', port));

  const flag = await running.printed(/To sign in, run it with (--publish \d+)/);

  expect(flag).toBe(`--publish ${port}`);
});

test('a run config from another person publishes a port only with consent', async () => {
  proves('security.consent');
  const file = join(user.home, 'exported.json');
  await user.mustThv('run', '--name', 'plain', '--sessions', 'shared', testServer, '--', 'echo');
  await user.mustThv('export', 'plain', file);
  await user.mustThv('rm', 'plain');
  const exported = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...exported, publish: [String(await testPort())] }));

  const refused = await user.thv('run', '--from-config', file);
  const accepted = await user.thv('run', '--from-config', file, '--accept-risks');

  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringContaining('accepted_risks must contain publish-ports'),
  ]);
  expect(accepted.code).toBe(0);
});

test('a port that a server cannot publish is refused with the reason', async () => {
  const run = async (...flags: string[]): Promise<string> => {
    const { code, stderr } = await user.thv('run', '--name', 'refused', ...flags, testServer, '--', 'echo');
    return `${code}: ${stderr}`;
  };

  expect(await run('--publish', '80')).toMatch(
    /^2: Error: invalid --publish: is not a port from 1024 to 65535, or PORT:SERVER_PORT\n/,
  );
  expect(await run('--publish', 'http')).toMatch(/^2: .*PORT:SERVER_PORT/s);
  expect(await run('--publish', '8000', '--sessions', 'own')).toMatch(/^2: .*--sessions shared/s);
  expect(await run('--publish', '8000', '--publish', '8000:9000')).toMatch(
    /^2: .*local port 8000 belongs to/s,
  );
  expect(await run('--publish', '8000', '--network', 'host', '--accept-risks')).toMatch(
    /^2: .*has all ports of this machine/s,
  );
});
