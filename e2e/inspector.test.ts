// @suite e2e (in depth)
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, get } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPort } from '@toolhive/testing/port';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { docsCache } from './testing/package-cache.ts';
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

/**
 * The inspector itself comes from the public registry, the server that is inspected from that of the tests. The inspector is
 * installed once for these users and for the readers of the documentation.
 */
async function makeInspectorUser(): Promise<Pick<User, 'start' | 'thv'> & AsyncDisposable> {
  const other = await makeUser({
    env: {
      ...publicRegistries(),
      XDG_STATE_HOME: join(user.home, '.local/state'),
      XDG_CACHE_HOME: docsCache,
      npm_config_cache: join(root, '.cache/npm'),
    },
  });
  return other;
}

/** Opens the inspector on ports of its own, and waits until it says where it is. */
async function openInspector(user: Awaited<ReturnType<typeof makeInspectorUser>>) {
  const [ui, second] = [await testPort(), await testPort()];
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

describe('an inspector that was killed during its first installation', () => {
  const stages = ['gets the inspector', 'asks for its dependency', 'has got its dependency'] as const;

  test.each(stages)('starts the next time: npm %s', async (stage) => {
    await using registry = await openGatedRegistry();
    await using inspector = await makeUser({
      env: { XDG_STATE_HOME: join(user.home, '.local/state'), npm_config_registry: registry.url },
    });
    inspector.env['npm_config_cache'] = join(inspector.home, 'npm');
    const words = ['inspector', 'inspected', '-u', `${await testPort()}`, '-p', `${await testPort()}`];
    const reached = registry.reaches(stage);
    const killed = inspector.start(...words);
    await Promise.race([reached, killed.ended]);
    killed.child.kill('SIGKILL');
    await killed.ended;
    registry.open();

    const next = inspector.start(...words, '--format', 'json');
    await until(() => next.stdout().endsWith('\n') || next.child.exitCode !== null);
    next.child.kill('SIGINT');
    const code = await next.ended;

    expect([killed.child.signalCode, code, next.stderr()]).toEqual(['SIGKILL', 0, expect.anything()]);
    expect(JSON.parse(next.stdout())).toMatchObject({
      url: expect.stringContaining('MCP_INSPECTOR_API_TOKEN='),
    });
    expect(await readdir(join(inspector.home, '.cache/toolhive/inspector'))).toEqual(['2.12.0']);
  });

  test('is installed again if its files are missing, and once if several start at the same time', async () => {
    await using registry = await openGatedRegistry();
    await using inspector = await makeUser({
      env: { XDG_STATE_HOME: join(user.home, '.local/state'), npm_config_registry: registry.url },
    });
    inspector.env['npm_config_cache'] = join(inspector.home, 'npm');
    registry.open();
    const folder = join(inspector.home, '.cache/toolhive/inspector');
    await mkdir(join(folder, '2.12.0/node_modules'), { recursive: true });
    await mkdir(join(folder, 'installing-999999999-abcdef'));
    const start = async () =>
      inspector.start('inspector', 'inspected', '-u', `${await testPort()}`, '-p', `${await testPort()}`);

    const started = [await start(), await start()];
    for (const { child, stdout } of started)
      await until(() => stdout().endsWith('\n') || child.exitCode !== null);
    for (const { child } of started) child.kill('SIGINT');

    for (const { ended, stderr } of started) expect([await ended, stderr()]).toEqual([0, expect.anything()]);
    expect(await readdir(folder)).toEqual(['2.12.0']);
  });
});

/** A registry with a stand-in for the inspector, which stops at a stage until it is opened. */
async function openGatedRegistry() {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'thv-inspector-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const publish = async (name: string, manifest: object, files: Record<string, string>): Promise<string> => {
    const place = join(folder, name);
    await mkdir(place);
    await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
    for (const [file, text] of Object.entries(files))
      await writeFile(join(place, file), text, { mode: 0o755 });
    return place;
  };
  const content = randomBytes(200_000).toString('base64');
  const page = `#!/usr/bin/env node
import { createServer } from 'node:http';
import 'inspector-part';
createServer((request, response) => response.end('ok')).listen(Number(process.env.CLIENT_PORT), '127.0.0.1');
`;
  const registry = opened.use(
    await openNpmRegistry([
      await publish(
        'inspector',
        {
          name: '@modelcontextprotocol/inspector',
          version: '2.12.0',
          type: 'module',
          bin: { 'mcp-inspector': 'page.mjs' },
          dependencies: { 'inspector-part': '1.0.0' },
        },
        { 'page.mjs': page, 'data.txt': content },
      ),
      await publish(
        'part',
        { name: 'inspector-part', version: '1.0.0', main: 'index.js' },
        { 'index.js': '', 'data.txt': content },
      ),
    ]),
  );
  let gate: { stage: string; reached: () => void } | undefined;
  const gated = (stage: string): boolean => {
    if (gate?.stage !== stage) return false;
    gate.reached();
    return true;
  };
  const server = createHttpServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/');
    const what = path.includes('inspector-part') ? 'its dependency' : 'the inspector';
    const isTarball = path.endsWith('.tgz');
    if (!isTarball && gated(`asks for ${what}`)) return;
    const forwarded = { headers: { host: request.headers.host } };
    get(new URL(request.url ?? '/', registry.url), forwarded, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      if (!isTarball) return answer.pipe(response);
      return answer.once('data', (first: Buffer) => {
        response.write(first);
        answer.pause();
        if (gated(`gets ${what}`)) return;
        answer.pipe(response);
        response.once('finish', () => gated(`has got ${what}`));
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const everything = opened.move();
  return {
    url: `http://127.0.0.1:${port}/`,
    /** Resolves when npm is at a stage, where it waits, except after a download. */
    reaches: (stage: string) => new Promise<void>((reached) => (gate = { stage, reached })),
    open: () => (gate = undefined),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

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
