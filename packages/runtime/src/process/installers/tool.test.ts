// @suite system
import { mkdir, mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inside } from '../plan.ts';
import { machineOf, never } from '../test-rig.ts';
import { type InstallContext, type ToolCall, runTool } from './tool.ts';

async function aContext(changes: Partial<InstallContext> = {}): Promise<InstallContext> {
  const root = await mkdtempDisposable(join(tmpdir(), 'thv-tool-'));
  onTestFinished(() => root.remove());
  const [folder, downloads, cacheDir] = ['package', 'downloads', 'cache'].map((name) =>
    join(root.path, name),
  );
  if (folder === undefined || downloads === undefined || cacheDir === undefined)
    throw new Error('three names');
  for (const path of [folder, downloads, cacheDir]) await mkdir(path);
  return {
    env: process.env,
    machine: await machineOf(process.env),
    place: { daemonId: 'tool', tempDir: join(root.path, 'tmp') },
    folder,
    downloads,
    cacheDir,
    certificates: undefined,
    isFirst: false,
    background: new Set(),
    allowed: [],
    inspect: async () => {},
    report: () => {},
    signal: never,
    ...changes,
  };
}

/** A web server of this machine that says which requests it got. */
async function listenHere() {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('of this machine');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { origin: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const script = (text: string, changes: Partial<ToolCall> = {}): ToolCall => ({
  name: 'tool',
  command: [inside.node, '-e', text],
  ...changes,
});

test('a tool sees neither the home directory nor the environment of the daemon', async () => {
  const look = `console.log(JSON.stringify([Object.keys(process.env).toSorted(), require('fs').readdirSync(process.env.HOME)]))`;
  const context = await aContext({ env: { ...process.env, GITHUB_TOKEN: 'secret' } });

  const { stdout } = await runTool(script(look), context);

  expect(JSON.parse(stdout)).toEqual([['HOME', 'PATH', 'PWD'], []]);
});

test('a tool that ends at once loses nothing of its output', async () => {
  const context = await aContext();
  const call = { name: 'tool', command: ['/bin/echo', 'all of it'] };

  const results = await Promise.all(Array.from({ length: 24 }, () => runTool(call, context)));

  expect(new Set(results.map(({ stdout }) => stdout))).toEqual(new Set(['all of it\n']));
});

test.each(['/usr', '/etc', '/opt/toolhive', '/opt/toolhive/bin', '/'])(
  'a tool cannot write to %s',
  async (folder) => {
    const write = `try { require('fs').writeFileSync('${folder}/new', ''); console.log('wrote'); } catch (e) { console.log(e.code); }`;

    const { stdout } = await runTool(script(write), await aContext());

    expect(stdout.trim()).toMatch(/^(EROFS|EACCES|EPERM)$/);
  },
);

const fetching = (url: string) =>
  `fetch('${url}').then(async (r) => console.log(r.status, await r.text()), (e) => console.log('failed', e.cause?.code ?? e.message))`;

test('a tool reaches a registry that the user has configured, also on loopback', async () => {
  const { origin, requests } = await listenHere();
  const call = script(fetching(`http://${origin}/package`), { registries: new Set([origin]) });

  const { stdout } = await runTool(call, await aContext());

  expect(stdout.trim()).toBe('200 of this machine');
  expect(requests).toEqual(['/package']);
});

test('a tool reaches nothing else on loopback, neither directly nor through the gateway', async () => {
  const [registry, other] = await Promise.all([listenHere(), listenHere()]);
  const registries = new Set([registry.origin]);
  const through = `const asking = require('http').request({ socketPath: '${inside.gateway}', path: 'http://${other.origin}/secret' }, (r) => { console.log(r.statusCode); r.resume(); }); asking.end();`;
  const connect = `require('http').request({ socketPath: '${inside.gateway}', method: 'CONNECT', path: '${other.origin}' }).on('connect', (r, s) => { console.log(r.statusCode); s.destroy(); }).end();`;
  const context = await aContext();

  const direct = await runTool(script(fetching(`http://${other.origin}/secret`), { registries }), context);
  const proxied = await runTool(script(through, { registries }), context);
  const tunneled = await runTool(script(connect, { registries }), context);

  expect(direct.stdout).toContain('failed');
  expect([proxied.stdout.trim(), tunneled.stdout.trim()]).toEqual(['403', '403']);
  expect(other.requests).toEqual([]);
});

test('a tool cannot use up the connections of the daemon', async () => {
  const connecting = `
    let closed = 0;
    const end = (said) => { console.log(said); process.exit(); };
    for (let i = 0; i < 400; i++)
      require('net').connect('${inside.gateway}').on('error', () => {}).on('close', () => ++closed === 144 && end('limited'));
    setTimeout(end, 10_000, 'unlimited');`;
  const call = script(connecting, { registries: new Set(['registry.example:443']) });

  const { stdout } = await runTool(call, await aContext());

  expect(stdout.trim()).toBe('limited');
});

test('a tool without registries has no network', async () => {
  const { origin, requests } = await listenHere();

  const { stdout } = await runTool(script(fetching(`http://${origin}/`)), await aContext());

  expect(stdout).toContain('failed');
  expect(requests).toEqual([]);
});

test('a tool that is given up never goes on, however early that is', async () => {
  const context = await aContext();
  const call = { name: 'sleep', command: ['sleep', '600'] };

  for (let moment = 0; moment < 30; moment++) {
    const giveUp = new AbortController();
    const running = runTool(call, { ...context, signal: giveUp.signal });
    for (let turn = 0; turn < moment; turn++) await new Promise(setImmediate);
    giveUp.abort();

    await expect(running).rejects.toMatchObject({ kind: 'cancelled' });
  }
});
