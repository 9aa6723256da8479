// @suite e2e (in depth)
import { execFile } from 'node:child_process';
import { cp, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { pathWithUv } from './testing/package-cache.ts';
import { makeUser, publicRegistries, root } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// Servers from files of this machine, as a person starts them. None of them is published.

let user: User;

beforeAll(async () => {
  user = await makeUser({ env: { ...publicRegistries(), PATH: await pathWithUv() } });
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
});

async function write(name: string, files: Record<string, string>): Promise<string> {
  const folder = join(user.home, name);
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  return folder;
}

async function toolsOf(...words: string[]): Promise<string[]> {
  const stdout = await user.mustThv('run', ...words);
  await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');
  return await client.tools(); // before the client is closed
}

/** A whole MCP server in Node.js, with one tool, whose name is an expression. */
const nodeServer = (tool: string) => `
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'node', version: '1' } },
  'tools/list': { tools: [{ name: ${tool}, inputSchema: { type: 'object' } }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
});
`;

/** A whole MCP server in Python with one tool. Its messages stay in a buffer. */
const unflushedServer = `
import json, sys

results = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}},
    "tools/list": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]},
}

def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}))

if __name__ == "__main__":
    main()
`;

/** The same, with a small package of the public index. A common one such as the SDK brings twenty others. */
const pythonServer = `import iniconfig\n${unflushedServer}`;
const project = `[project]
name = "local-server"
version = "1.0.0"
requires-python = ">=3.10"
dependencies = ["iniconfig<3"]
[project.scripts]
local-server = "local_server:main"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
py-modules = ["local_server"]
`;

test('runs a Node.js script, and its new content at the next start', async () => {
  proves('run.local.script');
  const folder = await write('scripts', { 'server.js': nodeServer(`'before'`) });

  const before = await toolsOf('--name', 'script', join(folder, 'server.js'));
  await writeFile(join(folder, 'new.js'), nodeServer(`'after'`));
  await rename(join(folder, 'new.js'), join(folder, 'server.js')); // as editors save
  const { stdout } = await user.thv('restart', 'script');
  await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? (await urlOf('script')));

  expect([before, await client.tools()]).toEqual([['before'], ['after']]);
});

async function urlOf(name: string): Promise<string> {
  const { text } = await user.api('GET', `/api/v1beta/workloads/${name}`);
  return (JSON.parse(text) as { url: string }).url;
}

test('runs an npm package in a directory with its dependencies', async () => {
  proves('run.local.directory');
  const manifest = {
    name: 'mine',
    version: '1.0.0',
    bin: 'main.js',
    dependencies: { ms: '^2.1.0' }, // from the public registry, without more dependencies
  };
  const folder = await write('with-dependency', {
    'package.json': JSON.stringify(manifest),
    'main.js': nodeServer(`require('ms')(60_000, { long: true }).replace(' ', '-')`),
  });

  expect(await toolsOf(`npx://${folder}`)).toEqual(['1-minute']);
});

test('runs an archive of npm pack', async () => {
  proves('run.local.archive');
  const source = join(user.home, 'test-servers');
  await cp(join(root, 'packages/test-servers'), source, {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  });
  await promisify(execFile)('npm', ['pack', '--pack-destination', user.home], { cwd: source });

  expect(await toolsOf(join(user.home, 'toolhive-test-servers-1.0.0.tgz'), '--', 'echo')).toContain('echo');
});

test('runs a Python script with the packages of its project', async () => {
  proves('run.local.script');
  const folder = await write('python-script', { 'server.py': pythonServer, 'pyproject.toml': project });

  expect(await toolsOf('uv', '--directory', folder, 'run', 'server.py')).toEqual(['greet']);
});

test('runs a Python script that does not flush its messages', async () => {
  const folder = await write('unflushed', { 'server.py': unflushedServer });

  expect(await toolsOf('--name', 'unflushed', join(folder, 'server.py'))).toEqual(['greet']);
});

test('builds and runs a Python project, and its wheel', async () => {
  proves('run.local.directory');
  proves('run.local.archive');
  const folder = await write('python-project', {
    'local_server.py': pythonServer,
    'pyproject.toml': project,
  });
  const options = { env: { ...user.env, PATH: await pathWithUv() }, cwd: folder };
  await promisify(execFile)('uv', ['build', '--wheel', '--out-dir', user.home], options);

  const fromDirectory = await toolsOf(`uvx://${folder}`);
  const fromWheel = await toolsOf(join(user.home, 'local_server-1.0.0-py3-none-any.whl'));

  expect([fromDirectory, fromWheel]).toEqual([['greet'], ['greet']]);
});

test.each([
  ['/', 'has no package.json'],
  ['npx:///', 'contains a whole home directory'],
  ['npx://~/', 'contains a whole home directory'],
  ['npx://~/.local/state/toolhive', 'contains files of ToolHive itself'],
  ['./no-such-directory', 'not found'],
  ['uvx://~/scripts', 'is not a package for uvx://'],
])('refuses %s', async (source, message) => {
  proves('run.local.refused');
  await write('scripts', {});

  const { code, stderr } = await user.thv('run', '--name', 'refused', source);

  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
  expect((await user.api('GET', '/api/v1beta/workloads/refused')).status).toBe(404);
});
