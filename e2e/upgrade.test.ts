// @suite e2e (in depth)
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import type { NpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTerminal } from './testing/terminal.ts';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** A server whose tool tells its version: a release that changes what models read. */
const server = (version: string): string => `#!/usr/bin/env node
import { createInterface } from 'node:readline';
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'versioned', version: '${version}' } },
  'tools/list': { tools: [{ name: 'tell', description: 'Tells ${version}.', inputSchema: { type: 'object' } }] },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = results[method] === undefined ? { error: { code: -32601, message: 'unknown' } } : { result: results[method] };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;

let user: User;
let registry: NpmRegistry;

beforeAll(async () => {
  const temporary = await makeUser();
  const folders = ['1.0.0', '1.1.0'].map((version) => join(temporary.home, 'published', version));
  for (const folder of folders) {
    const version = folder.split('/').at(-1) ?? '';
    await mkdir(folder, { recursive: true });
    const dependencies = version === '1.1.0' ? { needed: '^2.0.0' } : {};
    const manifest = { name: 'versioned', version, type: 'module', bin: 'main.js', dependencies };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(folder, 'main.js'), server(version), { mode: 0o755 });
  }
  const needed = join(temporary.home, 'published', 'needed');
  await mkdir(needed);
  await writeFile(join(needed, 'package.json'), JSON.stringify({ name: 'needed', version: '2.0.0' }));
  registry = await openNpmRegistry([...folders, needed]);
  await temporary[Symbol.asyncDispose]();
  // Versions of one name differ between tests, so nothing is taken from the cache that all tests share.
  user = await makeUser({ env: { npm_config_registry: registry.url, npm_config_cache: undefined } });
});
afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
});

const tools = (name: string): Promise<string> => user.mustThv('mcp', 'list', 'tools', '--server', name);

test('a server is upgraded to the newest version, and its changed tools wait for approval', async () => {
  const flags = ['--permission-profile', 'none', '--tool-pinning', 'block', '--env', 'MODE=quiet'];
  await user.mustThv('run', 'npx://versioned@1.0.0', '--name', 'old', ...flags);
  const before = await tools('old');

  const outdated = JSON.parse(await user.mustThv('outdated', 'old', '--format', 'json'));
  const table = await user.mustThv('outdated');
  const [{ changes }] = JSON.parse(await user.mustThv('outdated', 'old', '--changes', '--format', 'json'));
  const shown = await user.mustThv('outdated', 'old', '--changes');
  const unasked = await user.thv('upgrade', 'old');
  const upgraded = await user.thv('upgrade', 'old', '--yes');
  const after = await tools('old');
  const pins = await user.thv('pin', 'show', 'old');
  const again = await user.mustThv('upgrade', 'old');
  const exported: unknown = JSON.parse((await user.api('GET', '/api/v1beta/workloads/old/export')).text);

  expect(outdated).toEqual([
    {
      name: 'old',
      package: 'npx://versioned@1.0.0',
      current: '1.0.0',
      newest: '1.1.0',
      published_at: expect.any(String),
      outdated: true,
      young: true,
    },
  ]);
  expect(table).toMatch(/^old +1\.0\.0 +1\.1\.0 +\S+ +published very recently$/m);
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('old was not upgraded')]);
  expect(upgraded.stderr).toContain('npx://versioned@1.0.0: 1.0.0 -> 1.1.0, published ');
  const absent = { status: 'absent', reason: expect.any(String) };
  expect(changes).toEqual({
    dependencies: [{ name: 'needed', to: '2.0.0' }],
    provenance: { current: absent, newest: absent },
    warnings: [],
  });
  for (const text of [shown, upgraded.stderr]) {
    expect(text).toContain('Provenance after: absent (');
    expect(text).toContain('Dependencies:\n  + needed 2.0.0\n');
    expect(text).toContain('Tools: compared with the approved ones when the new version first runs');
  }
  expect(upgraded.stderr).toContain('WARNING: this version was published very recently');
  expect(upgraded.stdout).toBe('old runs version 1.1.0.\n');
  expect(after).toBe(before);
  expect([pins.code, pins.stdout]).toEqual([1, expect.stringContaining('+description: Tells 1.1.0.')]);
  expect(again).toBe('old runs the newest version, 1.1.0.\n');
  expect(exported).toMatchObject({
    image: 'npx://versioned@1.1.0',
    tool_pinning: 'block',
    env_vars: { MODE: 'quiet' },
    permission_profile: { name: 'none' },
  });
});

test('an upgrade asks in a terminal, and warns only of versions younger than the setting', async () => {
  await user.mustThv('config', 'set-minimum-package-age', '0');
  await user.mustThv('run', 'npx://versioned@1.0.0', '--name', 'asked', '--permission-profile', 'none');

  const terminal = openTerminal(user, ['upgrade', 'asked']);
  await terminal.shows('Upgrade asked? [y/N]');
  terminal.type('n\r');

  expect(await terminal.ended).toBe(130);
  expect(terminal.screen()).not.toContain('WARNING');
  expect(await tools('asked')).toContain('Tells 1.0.0.');
});

test('what has no version in a package registry is told apart', async () => {
  const folder = join(user.home, 'local');
  await mkdir(folder);
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'l', version: '1.0.0', bin: 'main.mjs' }),
  );
  await writeFile(join(folder, 'main.mjs'), server('1.0.0'), { mode: 0o755 });
  await user.mustThv('run', `npx://${folder}`, '--name', 'local', '--permission-profile', 'none');

  const local = await user.thv('upgrade', 'local', '--yes');
  const missing = await user.thv('upgrade', 'nothing', '--yes');

  expect(local.code).toBe(1);
  expect(local.stderr).toContain('local runs a local package, which has no versions');
  expect(missing.code).toBe(4);
});
