import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { startCommand } from './testing/running.ts';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// The command of a server for a sign-in, which runs once in the sandbox of the server.

/** A server that needs the token that its command `auth` stores. */
const server = `
import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const token = process.env.HOME + '/token';
const lines = createInterface({ input: process.stdin });
if (process.argv[2] === 'auth') {
  console.error('\\u001b[32mSign in at https://example.com/device\\u001b[0m');
  process.stdout.write('Code: ');
  for await (const line of lines) {
    writeFileSync(token, line);
    console.log('stored ' + line);
    process.exit(line === 'wrong' ? 7 : 0);
  }
  process.exit(3);
}
if (!existsSync(token)) {
  console.error('Not signed in. Run: npx server auth');
  process.exit(1);
}
for await (const line of lines) {
  const { id, method } = JSON.parse(line);
  const results = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
    'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
  };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
}
`;

let user: User;

beforeAll(async () => {
  user = await makeUser();
  const folder = join(user.home, 'mail');
  await mkdir(folder);
  await writeFile(join(folder, 'server.mjs'), server);
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
});

test('a server that fails names its command, which signs in and lets the server start', async () => {
  const failed = await user.thv('run', '--name', 'mail', join(user.home, 'mail', 'server.mjs'));
  await using signingIn = startCommand(user, ['exec', 'mail', '--', 'auth']);

  await signingIn.printed(/(Code: )/);
  signingIn.child.stdin.write('1234\n');
  const code = await signingIn.ended;
  await using client = await connectTo(/http:\S+/.exec(signingIn.stdout())?.[0] ?? '');

  expect(failed.stderr).toContain('run thv exec mail -- auth');
  expect(code).toBe(0);
  expect(signingIn.stdout()).toMatch(/^Code: stored 1234\nmail runs at http:\S+\n$/);
  expect(signingIn.stderr()).toContain('Sign in at https://example.com/device\n');
  expect(await client.tools()).toEqual(['read']);
  expect((await user.thv('logs', 'mail')).stdout).not.toContain('stored 1234');
});

test('the exit code is the one of the program, for people and for programs', async () => {
  await using failing = startCommand(user, ['exec', 'mail', '--format', 'json', '--', 'auth']);
  failing.child.stdin.end('wrong\n');

  expect(await failing.ended).toBe(7);
  expect(failing.stderr()).toContain('the program exited with code 7');
  const events = failing
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; stream?: string; text?: string });
  // The prompt and the answer come together or one after the other.
  const output = events.filter(({ type, stream }) => type === 'output' && stream === 'stdout');
  expect(output.map(({ text }) => text).join('')).toContain('stored wrong\n');
});

test('a program without input ends, and Ctrl-C ends one that waits', async () => {
  await using silent = startCommand(user, ['exec', 'mail', '--', 'auth']);
  silent.child.stdin.end();
  const without = await silent.ended;
  await using waiting = startCommand(user, ['exec', 'mail', '--', 'auth']);
  await waiting.printed(/(Code: )/);

  expect([without, await waiting.end('SIGINT')]).toEqual([3, 130]);
  await user.thv('restart', 'mail');
  expect((await user.thv('list')).stdout).toMatch(/mail .* running/);
});

test('arguments in the wrong place are named', async () => {
  const misplaced = await user.thv('exec', 'mail', 'auth');
  const none = await user.thv('exec', 'mail');

  expect([misplaced.code, none.code]).toEqual([2, 2]);
  expect(misplaced.stderr).toContain('thv exec mail -- auth');
  expect(none.stderr).toContain('thv exec mail -- ARGUMENTS');
});
