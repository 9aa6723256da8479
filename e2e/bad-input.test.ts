// @suite e2e (in depth)
import { readdir, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { makeUser, processesWith, serve, testPackage, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

describe('a mistake at the command line', () => {
  let user: User;

  beforeAll(async () => {
    user = await makeUser();
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test.each([
    ['an unknown command', ['frobnicate'], 2, 'thv has no command "frobnicate"'],
    ['an unknown flag', ['list', '--colour'], 2, 'thv list has no flag --colour'],
    ['a missing argument', ['run'], 2, 'SOURCE is missing'],
    [
      'a port that is no number',
      ['run', testServer, '--proxy-port', 'many'],
      2,
      '--proxy-port takes a whole number',
    ],
    ['a variable without a value', ['run', testServer, '--env', 'TOKEN'], 2, '--env takes NAME=VALUE'],
    [
      'a missing profile',
      ['run', testServer, '--permission-profile', '/no/such.json'],
      2,
      'invalid --permission-profile: cannot read /no/such.json: file not found',
    ],
    ['a name that climbs', ['run', testServer, '--name', '../x'], 2, 'a workload name'],
    ['an unknown server', ['run', 'filesistem'], 4, 'the registry has no server filesistem'],
    ['an unknown package', ['run', 'npx://no-such-package-here'], 4, 'no-such-package-here'],
    ['an unknown version', ['run', `npx://${testPackage}@99.0.0`], 4, '99.0.0'],
    [
      'an image without an engine',
      ['run', 'ghcr.io/example/server:1'],
      1,
      'is a container image, and no container engine was found',
    ],
    ['an unknown workload', ['restart', 'nobody'], 4, 'workload nobody not found'],
    ['an unknown workload with a log', ['logs', 'nobody'], 4, 'workload nobody not found'],
  ])('%s says what was wrong and what to do', async (_title, words, code, message) => {
    proves('cli.errors', 'bad.name', 'bad.unknown-source');
    const outcome = await user.thv(...words);

    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toContain(message);
    expect(outcome.stderr).toMatch(/^Error: /m);
    expect(outcome.stderr).not.toMatch(/^\s+at /m);
    expect(outcome.stdout).toBe('');
    expect(await user.mustThv('list', '--all')).toBe('No workloads found.\n');
  });

  test.each([
    ['uvx', 'uvx://mcp-server-time', 'uv'],
    ['go', 'go://example.test/server', 'go'],
    ['npx', 'npx://anything', 'npm'],
  ])('a missing tool chain is named: %s', async (_scheme, source, tool) => {
    proves('run.package.missing-tool');
    await using bare = await homes.take();
    // Only what the sandbox itself needs is on the path.
    for (const program of ['bwrap', 'prlimit'])
      await symlink(`/usr/bin/${program}`, join(bare.home, program));
    bare.env['PATH'] = bare.home;

    const { code, stderr } = await bare.thv('run', source);

    expect(code).toBe(5);
    expect(stderr).toMatch(new RegExp(`^Error: .*\\b${tool}\\b`, 'm'));
    expect(stderr).toMatch(/^Hint: /m);
  });

  test('without a sandbox nothing runs, and it is said how to get one', async () => {
    proves('bad.no-sandbox', 'cli.runtime-check', 'api.health.none');
    await using bare = await makeUser({ env: { PATH: '/nowhere' } });
    await using daemon = await serve(bare);

    const run = await bare.thv('run', testServer);
    const check = await bare.thv('runtime', 'check');
    const health = await fetch(`${daemon.base}/health`);

    expect([run.code, check.code, health.status]).toEqual([5, 5, 503]);
    for (const text of [run.stderr, check.stderr, await health.text()])
      expect(text).toMatch(/bubblewrap|bwrap/);
    expect(run.stderr).toMatch(/Hint: .*apt/);
  });
});

describe('an installation', () => {
  test('without a network says what cannot be reached, and leaves nothing', async () => {
    proves('bad.unknown-source');
    const { port, close } = await occupyPort();
    await close();
    await using user = await makeUser({
      env: { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' },
    });

    const { code, stderr } = await user.thv('run', testServer);

    expect(code).toBe(5);
    expect(stderr).toMatch(/^Error: .*cannot reach/m);
    expect(await user.mustThv('list', '--all')).toBe('No workloads found.\n');
  });

  test('that is given up with Ctrl-C leaves nothing', async () => {
    const registry = await occupyPort(); // accepts, and never answers
    await using user = await makeUser({ env: { npm_config_registry: `http://127.0.0.1:${registry.port}/` } });
    const running = user.start('run', testServer);
    await until(() => running.stderr().includes('installing'));

    running.child.kill('SIGINT');
    const code = await running.ended;
    await until(async () => !(await processesWith(user.home)).some(({ command }) => command.includes('npm')));
    await registry.close();

    expect(code).toBe(130);
    expect(await user.mustThv('list', '--all')).toBe('No workloads found.\n');
    const installed = await readdir(join(user.home, '.cache/toolhive/packages'), { recursive: true });
    expect(installed.filter((path) => path.includes('toolhive-test-servers'))).toEqual([]);
  });
});

test('a network that no sandbox has is refused before anything is prepared', async () => {
  await using user = await homes.take();
  await using daemon = await serve(user);
  const body = { name: 'api', image: testServer, permission_profile: { network: { mode: 'foo' } } };

  const { code, stderr } = await user.thv('run', testServer, '--network', 'foo');
  const answer = await fetch(`${daemon.base}/api/v1beta/workloads`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

  expect([code, stderr]).toEqual([
    2,
    'Error: the sandbox does not support the network mode foo\nHint: use host or none, or run the workload with a container engine\n',
  ]);
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('network mode foo')]);
  expect(await user.mustThv('list', '--all')).toBe('No workloads found.\n');
});

describe('a server with bad manners', () => {
  let user: User;

  beforeAll(async () => {
    user = await makeUser();
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test('that exits at once is reported with what it wrote', async () => {
    proves('bad.exits');
    const { code, stderr } = await user.thv(
      'run',
      testServer,
      '--name',
      'exits',
      '--',
      'exit-at-once',
      `--of=${user.home}`,
    );
    const { status } = JSON.parse((await user.api('GET', '/api/v1beta/workloads/exits/status')).text) as {
      status: string;
    };

    expect(code).toBe(5);
    expect(stderr).toContain(
      'the server exited with code 3; last output: cannot start: THE_SETTING is not set',
    );
    expect(stderr).toContain('thv rm exits');
    expect(['error', 'starting']).toContain(status);
    expect(await user.mustThv('rm', 'exits')).toBe('removed exits\n');
    expect(await processesWith(`--of=${user.home}`)).toEqual([]);
  });

  test('that prints noise still works, and the noise is in its log', async () => {
    proves('bad.noise');
    await user.mustThv(
      'run',
      testServer,
      '--name',
      'noise',
      '--proxy-mode',
      'streamable-http',
      '--',
      'noise',
    );
    const [workload] = JSON.parse(await user.mustThv('list', '--format', 'json')) as { url: string }[];
    await using client = await connectTo(workload?.url ?? '');

    const answer = await client.call('echo', { message: 'clear' });

    expect(answer.text).toBe('clear');
    expect(await user.mustThv('logs', 'noise')).toContain('[stdout] Welcome to the server!');
  });

  test('in a port that another program uses is reported at a restart, and recovers', async () => {
    proves('bad.port');
    const { port, close } = await occupyPort();
    const refused = await user.thv('run', testServer, '--name', 'late', '--proxy-port', String(port));
    await close();
    await user.mustThv('run', testServer, '--name', 'late', '--proxy-port', String(port));
    await user.mustThv('stop', 'late');
    const again = await occupyPort(port);

    const restarted = await user.thv('restart', 'late');
    await again.close();
    await until(async () =>
      (await user.api('GET', '/api/v1beta/workloads/late/status')).text.includes('running'),
    );

    expect(refused.stderr).toContain(`port ${port} is in use`);
    expect(restarted.stderr).toContain(`port ${port} of workload late is in use by another program`);
  });
});

async function occupyPort(wanted = 0): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { port, close };
}
