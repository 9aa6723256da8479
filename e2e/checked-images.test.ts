// @suite e2e (in depth)
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildBaseImage } from '@toolhive/runtime/testing/base-images';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { npmFiles } from '@toolhive/runtime/testing/offline-registries';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const socket = await engineSocket('docker');

/** A server whose tool tells its version. */
const server = (version: string): string => `#!/bin/node
import { createInterface } from 'node:readline';
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'imaged', version: '${version}' } },
  'tools/list': { tools: [{ name: 'tell', description: 'Tells ${version}.', inputSchema: { type: 'object' } }] },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = results[method] === undefined ? { error: { code: -32601, message: 'unknown' } } : { result: results[method] };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\\n');
}
`;

describe.runIf(socket !== '')('a package in a container engine', () => {
  let user: User;
  const integrity: Record<string, string> = {};

  /** Publishes two versions, of which the newer one has a dependency, in the image that npm packages are built on. */
  async function publish(word: string): Promise<void> {
    const published = join(user.home, `published-${word}`);
    const folders = ['1.0.0', '1.1.0'].map((version) => join(published, version));
    for (const folder of folders) {
      const version = folder.split('/').at(-1) ?? '';
      await mkdir(folder, { recursive: true });
      const dependencies = version === '1.1.0' ? { needed: '2.0.0' } : {};
      const manifest = { name: 'imaged', version, type: 'module', bin: 'main.js', dependencies };
      await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
      await writeFile(join(folder, 'main.js'), `${server(version)}// ${word}\n`, { mode: 0o755 });
    }
    const needed = join(published, 'needed');
    await mkdir(needed);
    await writeFile(join(needed, 'package.json'), JSON.stringify({ name: 'needed', version: '2.0.0' }));
    await using registry = await openNpmRegistry([...folders, needed]);
    for (const version of ['1.0.0', '1.1.0']) integrity[version] ??= registry.integrityOf('imaged', version);
    const files = await npmFiles(registry, { imaged: ['1.0.0', '1.1.0'], needed: ['2.0.0'] });
    await buildBaseImage(socket, { image: 'node:22-alpine', ecosystem: 'npx', registry: files });
  }

  beforeAll(async () => {
    user = await makeUser({ env: { TOOLHIVE_RUNTIME: '', TOOLHIVE_DOCKER_SOCKET: socket } });
    await publish('first');
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test('is pinned, shows what an upgrade changes, and is refused after its content was replaced', async () => {
    proves('security.packages.images');
    const flags = ['--name', 'old', '--permission-profile', 'none'];

    const ran = JSON.parse(await user.mustThv('run', 'npx://imaged@1.0.0', ...flags, '--format', 'json'));
    const [{ changes, newest }] = JSON.parse(
      await user.mustThv('outdated', 'old', '--changes', '--format', 'json'),
    );
    const upgraded = await user.thv('upgrade', 'old', '--yes');
    const tools = await user.mustThv('mcp', 'list', 'tools', '--server', 'old');
    await publish('replaced');
    const replaced = await user.thv('build', 'npx://imaged@^1.0.0', '--tag', 'imaged-replaced:1');

    expect(ran).toMatchObject({ integrity: integrity['1.0.0'], provenance: { status: 'unknown' } });
    expect(newest).toBe('1.1.0');
    expect(changes).toMatchObject({ dependencies: [{ name: 'needed', to: '2.0.0' }] });
    expect([upgraded.code, upgraded.stdout]).toEqual([0, 'old runs version 1.1.0.\n']);
    expect(tools).toContain('Tells 1.1.0.');
    expect(replaced.code).not.toBe(0);
    expect(replaced.stderr).toContain('package imaged 1.1.0 has changed since its first installation');
  });
});
