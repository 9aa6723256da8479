// @suite published-servers
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aLaunch } from '../../testing/conformance.ts';
import { Conversation } from '../../testing/talk.ts';
import { pinMounts } from '../../mount-source.ts';
import type { Launch } from '../../runtime.ts';
import { type PackageSource, parseSource } from '../../source.ts';
import { openProcessRuntime } from '../process.ts';
import { never } from '../test-rig.ts';

// Packages from the real registries through the real tools: what no stand-in can tell.

const GO = '/usr/local/go/bin';
const hasGo = await access(join(GO, 'go')).then(
  () => true,
  () => false,
);

let folder: string;
let uvFolder: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-real-'));
  const target = join(folder, 'uv');
  const installed = promisify(execFile)('python3', [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--target',
    target,
    'uv',
  ]);
  uvFolder = await installed.then(
    () => join(target, 'bin'),
    () => undefined,
  );
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

test('runs the everything server from npm', async () => {
  const { name } = await nameOf(aRuntime(), 'npx://@modelcontextprotocol/server-everything');

  expect(name).toContain('everything');
});

test('runs a Python server from its wheels', async ({ skip }) => {
  if (uvFolder === undefined) skip('uv cannot be had here');
  const runtime = aRuntime(`${uvFolder}:${process.env['PATH']}`);

  const { name, version } = await nameOf(runtime, 'uvx://mcp-server-time');

  expect(name).toBe('mcp-time');
  expect(version).toMatch(/^\d+\.\d+/);
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

test.runIf(hasGo)('builds and runs a Go module from a folder, again after a change', async () => {
  const module = await mkdtemp(join(folder, 'module-'));
  await writeFile(join(module, 'go.mod'), 'module example.com/server\n\ngo 1.21\n');
  const runtime = aRuntime(`${GO}:${process.env['PATH']}`);
  await writeFile(join(module, 'main.go'), goServer('first'));
  const first = await nameOf(runtime, `go://${module}`);

  await writeFile(join(module, 'main.go'), goServer('second'));
  const second = await nameOf(runtime, `go://${module}`);

  expect([first.name, second.name]).toEqual(['first', 'second']);
  expect(first.version).not.toBe(second.version);
});

test.runIf(hasGo)('shows what the compiler says about a broken module', async () => {
  const module = await mkdtemp(join(folder, 'module-'));
  await writeFile(join(module, 'go.mod'), 'module example.com/server\n\ngo 1.21\n');
  await writeFile(join(module, 'main.go'), 'package main\n\nfunc main() { nonsense() }\n');
  const runtime = aRuntime(`${GO}:${process.env['PATH']}`);

  await expect(nameOf(runtime, `go://${module}`)).rejects.toMatchObject({
    kind: 'unsupported',
    message: expect.stringContaining('undefined: nonsense'),
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

/** A server of the standard library alone that answers every request with its name. */
function goServer(name: string): string {
  return `package main

import ("bufio"; "encoding/json"; "fmt"; "os")

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var request struct { Id int }
		json.Unmarshal(lines.Bytes(), &request)
		fmt.Printf("{\\"jsonrpc\\":\\"2.0\\",\\"id\\":%d,\\"result\\":{\\"serverInfo\\":{\\"name\\":\\"${name}\\"}}}\\n", request.Id)
	}
}
`;
}
