// @suite system (in depth)
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { InspectionCall, PackageContents, Runtime } from '../../runtime.ts';
import { type PackageSource, parseSource, withOptions } from '../../source.ts';
import { aLaunch } from '../../testing/conformance.ts';
import { type NpmRegistry, openNpmRegistry } from '../../testing/npm-registry.ts';
import { openProcessRuntime } from '../process.ts';
import { never, outputOf } from '../test-rig.ts';
import { missingCompilers } from './node-headers.ts';

const headersPackage = `node-${process.platform}-${process.arch}`;

let folder: string;
let registry: NpmRegistry;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-headers-'));
  return async () => {
    await registry?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
});

async function publish(name: string, version: string, files: Record<string, string>, manifest: object = {}) {
  const place = join(folder, name);
  const all = { 'package.json': JSON.stringify({ name, version, ...manifest }), ...files };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(join(place, path, '..'), { recursive: true });
    await writeFile(join(place, path), text);
  }
  return place;
}

/** A server with an install script, which is like node-gyp: the script needs headers of exactly this Node.js. */
const native = () =>
  publish(
    'native',
    '1.0.0',
    {
      'main.js': `#!/usr/bin/env node\nconsole.log(require('fs').readFileSync(__dirname + '/built', 'utf8'))\n`,
      'build.js': `const { readFileSync, writeFileSync } = require('fs');
        const header = readFileSync(process.env.npm_config_nodedir + '/include/node/node_version.h', 'utf8');
        writeFileSync('built', 'with ' + header.match(/MAJOR_VERSION (\\d+)/)[1]);`,
    },
    { bin: 'main.js', scripts: { install: 'node build.js' } },
  );

const headers = ([major, minor, patch] = process.versions.node.split('.')) =>
  publish(headersPackage, process.versions.node, {
    'include/node/node_version.h': `#define NODE_MAJOR_VERSION ${major}\n#define NODE_MINOR_VERSION ${minor}\n#define NODE_PATCH_VERSION ${patch}\n`,
    'bin/node': 'must not run',
  });

async function openRuntime(folders: readonly string[]): Promise<Runtime> {
  registry = await openNpmRegistry(folders);
  return openProcessRuntime({
    daemonId: `headers-${folder.slice(-6)}`,
    cacheDir: join(folder, 'cache'),
    tempDir: join(folder, 'tmp'),
    bundlesDir: join(folder, 'bundles'),
    homesDir: join(folder, 'homes'),
    env: { ...process.env, npm_config_registry: registry.url, npm_config_fetch_retries: '0' },
  });
}

async function prepare(runtime: Runtime, inspect?: (name: string) => void) {
  const messages: string[] = [];
  const prepared = await runtime.prepare(
    withOptions(parseSource('npx://native'), { allowScripts: ['native'] }),
    {
      report: (message) => messages.push(message),
      signal: never,
      inspect: async ({ name }: PackageSource, _contents: PackageContents, _call: InspectionCall) =>
        inspect?.(name),
    },
  );
  return { prepared, messages };
}

test('an install script gets the headers of the Node.js that runs the server, after an inspection', async () => {
  const runtime = await openRuntime([await native(), await headers()]);
  const inspected: string[] = [];

  const { prepared } = await prepare(runtime, (name) => inspected.push(name));

  await using instance = await runtime.start(aLaunch(prepared, {}), never);
  expect(await outputOf(instance)).toContain(`with ${process.versions.node.split('.')[0]}`);
  expect(inspected).toEqual(['native', headersPackage]);
});

test('headers of another Node.js are not used', async () => {
  const runtime = await openRuntime([await native(), await headers(['18', '0', '0'])]);

  await expect(prepare(runtime)).rejects.toMatchObject({
    kind: 'unsupported',
    message: expect.stringContaining('the install scripts of native failed'),
  });
});

test('an inspection that refuses the headers ends the installation', async () => {
  const runtime = await openRuntime([await native(), await headers()]);
  const { conflict } = await import('@toolhive/contract/failure');

  const preparing = prepare(runtime, (name) => {
    if (name === headersPackage) throw conflict('the headers have changed');
  });

  await expect(preparing).rejects.toThrow('the headers have changed');
});

test('names the programs for native modules that the machine lacks', async () => {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink(process.execPath, join(bin, 'make'));

  expect(await missingCompilers(bin)).toEqual(['python3', 'g++']);
});
