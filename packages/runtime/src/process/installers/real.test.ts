// @suite published-servers
import { once } from 'node:events';
import { access, mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aLaunch } from '../../testing/conformance.ts';
import { Conversation } from '../../testing/talk.ts';
import { uvPrograms } from '../../testing/uv.ts';
import { pinMounts } from '../../mount-source.ts';
import type { Launch } from '../../runtime.ts';
import { type PackageSource, parseSource } from '../../source.ts';
import { openProcessRuntime } from '../process.ts';
import { never } from '../test-rig.ts';

// Packages from the real registries through the real tools: what no stand-in can tell. `e2e/packages.test.ts` runs more.

const GO = '/usr/local/go/bin';
const hasGo = await access(join(GO, 'go')).then(
  () => true,
  () => false,
);

let folder: string;
/** Undefined if uv cannot be had here. */
let uvFolder: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-real-'));
  uvFolder = await uvPrograms().catch(() => undefined);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function aRuntime(path = process.env['PATH'], env: NodeJS.ProcessEnv = {}) {
  return openProcessRuntime({
    daemonId: 'real',
    cacheDir: join(folder, 'cache'),
    tempDir: join(folder, 'tmp'),
    bundlesDir: join(folder, 'bundles'),
    homesDir: join(folder, 'homes'),
    env: { ...process.env, PATH: path, ...env },
  });
}

/** Installs and starts a server, and asks for its name as MCP clients do. */
async function nameOf(runtime: ReturnType<typeof aRuntime>, source: string, changes: Partial<Launch> = {}) {
  const prepared = await runtime.prepare(parseSource(source), { report: () => {}, signal: never });
  await using instance = await runtime.start(aLaunch(prepared, { args: [], ...changes }), never);
  if (instance.stdio === undefined) throw new Error('the instance speaks no stdio');
  const conversation = new Conversation(instance.stdio);
  const clientInfo = { name: 'test', version: '1' };
  const asked = conversation.request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo,
  });
  const reply = await Promise.race([asked, instance.exited]);
  const { result } = reply as { result?: { serverInfo?: { name: string } } }; // an exit has none
  return {
    name: result?.serverInfo?.name ?? JSON.stringify(reply),
    version: (prepared as PackageSource).version,
  };
}

test('runs the file system server from npm with a folder', async () => {
  const mounts = await pinMounts([{ source: folder, target: '/data', readOnly: true }]);

  const { name, version } = await nameOf(aRuntime(), 'npx://@modelcontextprotocol/server-filesystem', {
    args: ['/data'],
    mounts,
  });

  expect(name).toBe('secure-filesystem-server');
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
});

test('says which Python package does not exist', async ({ skip }) => {
  if (uvFolder === undefined) skip('uv cannot be had here');
  const runtime = aRuntime(`${uvFolder}:${process.env['PATH']}`);

  const preparing = nameOf(runtime, 'uvx://no-such-package-of-ours');

  await expect(preparing).rejects.toMatchObject({
    kind: 'not-found',
    message: 'package no-such-package-of-ours not found',
  });
});

test.each([
  ['uv', 'uvx://mcp-server-time@0.0.1'],
  ['go', 'go://example.com/server@v1.0.0'],
])('says that %s is missing and how to get it', async (tool, source) => {
  const bare = await mkdtemp(join(folder, 'bare-'));
  await symlink('/usr/bin/bwrap', join(bare, 'bwrap'));

  await expect(nameOf(aRuntime(bare), source)).rejects.toMatchObject({
    kind: 'unavailable',
    message: `${tool} is not installed`,
    hint: expect.stringContaining('install'),
  });
});

test.runIf(hasGo)('installs a Go program from the module proxy and pins it', async () => {
  const runtime = aRuntime(`${GO}:${process.env['PATH']}`);
  const source = parseSource('go://golang.org/x/example/hello');

  const prepared = await runtime.prepare(source, { report: () => {}, signal: never });

  expect(prepared).toMatchObject({ version: expect.stringMatching(/^v0\.0\.0-\d{14}-[0-9a-f]{12}$/) });
});

test.runIf(hasGo)('says that a module proxy does not give out a Go module', async () => {
  const plain = { 'content-type': 'text/plain; charset=UTF-8' };
  const proxy = createServer((_request, response) => response.writeHead(403, plain).end('not for us'));
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  await using _closed = { [Symbol.asyncDispose]: async () => void proxy.close() };
  const { port } = proxy.address() as AddressInfo; // it listens on TCP
  const runtime = aRuntime(`${GO}:${process.env['PATH']}`, { GOPROXY: `http://127.0.0.1:${port}` });

  await expect(nameOf(runtime, 'go://example.com/server')).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'the Go module proxy does not serve example.com/server: not for us',
  });
});

test('refuses a Go module at a relative path', async () => {
  const source: PackageSource = { kind: 'package', scheme: 'go', name: './server' };

  const preparing = aRuntime().prepare(source, { report: () => {}, signal: never });

  await expect(preparing).rejects.toMatchObject({ kind: 'invalid' });
});
