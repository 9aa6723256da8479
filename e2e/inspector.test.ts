import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@toolhive/runtime/free-port';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import {
  isListening,
  makeUser,
  processesWith,
  publicRegistries,
  root,
  testServer,
  until,
} from './testing/thv.ts';
import type { User } from './testing/thv.ts';

let user: User;

beforeAll(async () => {
  user = await makeUser();
  await user.mustThv('run', testServer, '--name', 'inspected');
});
afterAll(() => user?.[Symbol.asyncDispose]());

/** The inspector itself comes from the public registry, the server that is inspected from that of the tests. */
async function makeInspectorUser(): Promise<Pick<User, 'start' | 'thv'> & AsyncDisposable> {
  const other = await makeUser({
    env: {
      ...publicRegistries(),
      XDG_STATE_HOME: join(user.home, '.local/state'),
      npm_config_cache: join(root, '.cache/npm'),
    },
  });
  return other;
}

/** Opens the inspector on ports of its own, and waits until it says where it is. */
async function openInspector(user: Awaited<ReturnType<typeof makeInspectorUser>>) {
  const [ui, second] = [await freePort(), await freePort()];
  const ports = ['-u', `${ui}`, '-p', `${second}`];
  const { child, stdout, ended } = user.start('inspector', 'inspected', ...ports, '--format', 'json');
  const printed = await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    return stdout().endsWith('\n') ? stdout() : undefined;
  });
  return { ui, second, child, ended, printed };
}

test('opens the inspector, connected to the workload, on loopback and for those with its token', async () => {
  proves('cli.inspector');
  await using inspector = await makeInspectorUser();
  const { ui, second, child, ended, printed } = await openInspector(inspector);
  const { url } = JSON.parse(printed) as { url: string };

  const page = await fetch(url);
  const token = new URL(url).searchParams.get('MCP_INSPECTOR_API_TOKEN') ?? '';
  const stranger = await fetch(new URL('/api/servers', url));
  const servers = await fetch(new URL('/api/servers', url), {
    headers: { 'x-mcp-remote-auth': `Bearer ${token}` },
  });
  const listed = await servers.text();
  const commands = (await processesWith(token)).map(({ command }) => command);
  child.kill('SIGINT');
  const code = await ended;

  expect(new URL(url).host).toBe(`127.0.0.1:${ui}`);
  expect([page.status, stranger.status, servers.status]).toEqual([200, 401, 200]);
  expect(listed).toContain(
    JSON.parse(await user.mustThv('list', '--format', 'json'))[0].url.replace(/#.*/, ''),
  );
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(commands.filter((command) => command.includes(token))).toEqual([]);
  expect(code).toBe(0);
  expect([await isListening(ui), await isListening(second), await processesWith(token)]).toEqual([
    false,
    false,
    [],
  ]);
});

test('leaves nothing of the inspector when it is killed', async () => {
  await using inspector = await makeInspectorUser();
  const { ui, second, child, ended } = await openInspector(inspector);

  child.kill('SIGKILL');
  await ended;

  await until(async () => (await processesWith(`CLIENT_PORT=${ui}`)).length === 0);
  await until(async () => !(await isListening(ui)) && !(await isListening(second)));
  expect(child.signalCode).toBe('SIGKILL');
});

test('names what is wrong', async () => {
  const busy = createServer();
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
  const address = busy.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  const [nothing, unknown, taken, noPort] = [
    await user.thv('inspector'),
    await user.thv('inspector', 'unheard-of'),
    await user.thv('inspector', 'inspected', '-u', `${port}`),
    await user.thv('inspector', 'inspected', '-u', '70000'),
  ];
  await user.mustThv('stop', 'inspected');
  const stopped = await user.thv('inspector', 'inspected');
  busy.close();

  expect([nothing.code, unknown.code, taken.code, noPort.code, stopped.code]).toEqual([2, 4, 3, 2, 3]);
  expect(taken.stderr).toBe(`Error: port ${port} is in use\nHint: choose another port with --ui-port\n`);
  expect(stopped.stderr).toBe(
    'Error: inspected is not running: its status is stopped\nHint: run thv start inspected to start it\n',
  );
});
