// @suite system (in depth)
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pinSource } from '../../mount-source.ts';
import type { PrepareOptions, Runtime } from '../../runtime.ts';
import { type PackageOptions, type PackageSource, parseSource, withOptions } from '../../source.ts';
import { aLaunch } from '../../testing/conformance.ts';
import { type NpmRegistry, openNpmRegistry } from '../../testing/npm-registry.ts';
import { type Wheel, openPythonIndex, wheelOf } from '../../testing/python-index.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { uvPrograms } from '../../testing/uv.ts';
import { openProcessRuntime } from '../process.ts';
import { never, outputOf } from '../test-rig.ts';

const run = promisify(execFile);

let folder: string;
let registry: NpmRegistry;
let index: WebServer;
let runtime: Runtime;
let uvPath: string | undefined;

const greeting: Wheel = { name: 'greeting', version: '1.0.0', files: { 'greeting.py': 'WORD = "hello"\n' } };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-local-'));
  await write('dependency', {
    'package.json': JSON.stringify({ name: 'dependency', version: '1.0.0' }),
    'index.js': `module.exports = 'hello'`,
  });
  registry = await openNpmRegistry([join(folder, 'dependency')]);
  index = await openPythonIndex([greeting]);
  uvPath = await uvPrograms().catch(() => undefined);
  runtime = openProcessRuntime({
    daemonId: `local-${folder.slice(-6)}`,
    cacheDir: join(folder, 'cache'),
    tempDir: join(folder, 'tmp'),
    bundlesDir: join(folder, 'bundles'),
    homesDir: join(folder, 'homes'),
    env: {
      ...process.env,
      PATH: `${uvPath ?? ''}:${process.env['PATH']}`,
      npm_config_registry: registry.url,
      UV_DEFAULT_INDEX: `${index.origin}/simple`,
    },
  });
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await index[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let directories = 0;

async function write(name: string, files: Record<string, string | Buffer>): Promise<string> {
  const place = join(folder, name);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(place, path, '..'), { recursive: true });
    await writeFile(join(place, path), content);
  }
  return place;
}

const aDirectory = (files: Record<string, string | Buffer>) => write(`source-${++directories}`, files);

async function prepare(text: string, options: PackageOptions = {}, granted?: PrepareOptions['granted']) {
  const messages: string[] = [];
  const source = withOptions(parseSource(text), options);
  const report = (message: string) => messages.push(message);
  const prepared = await runtime.prepare(source, { report, signal: never, granted });
  return { prepared: prepared as PackageSource, messages }; // it was a package before
}

/** What a server writes first. */
async function firstLineOf(text: string, options: PackageOptions = {}): Promise<string> {
  const { prepared } = await prepare(text, options);
  await using instance = await runtime.start(aLaunch(prepared, { args: ['one'] }), never);
  return (await outputOf(instance)).split('\n')[0] ?? '';
}

const nodePackage = (manifest: object = {}, program = `console.log('hello', process.argv[2])`) =>
  aDirectory({
    'package.json': JSON.stringify({ name: 'mine', bin: 'main.js', ...manifest }),
    'main.js': program,
  });

describe('a directory with a package.json', () => {
  test('runs with its dependencies', async () => {
    const program = `console.log(require('dependency'), process.argv[2])`;
    const source = await nodePackage({ dependencies: { dependency: '^1' } }, program);

    expect(await firstLineOf(`npx://${source}`)).toBe('hello one');
  });

  test('runs the file that `node DIRECTORY` runs if it names no program', async () => {
    const source = await nodePackage({ bin: undefined, main: './main.js' });

    expect(await firstLineOf(`npx://${source}`)).toBe('hello one');
  });

  test('is not installed again while its files are the same', async () => {
    const source = await nodePackage();
    const first = await prepare(`npx://${source}`);

    const second = await prepare(`npx://${source}@${first.prepared.version}`);

    expect(first.messages).toEqual([
      `installing ${source}`,
      expect.stringContaining(`installed ${source} in`),
    ]);
    expect(second).toEqual({ prepared: first.prepared, messages: [] });
  });

  test('is installed anew after a change, even if its version is named', async () => {
    const source = await nodePackage();
    const { prepared } = await prepare(`npx://${source}`);
    await writeFile(join(source, 'main.js'), `console.log('changed')`);

    expect(await firstLineOf(`npx://${source}@${prepared.version}`)).toBe('changed');
  });

  test('keeps the last few installations only', async () => {
    const source = await nodePackage();
    for (let change = 0; change < 7; change += 1) {
      await writeFile(join(source, 'main.js'), `console.log(${change})`);
      await prepare(`npx://${source}`);
    }

    const kept = await readdir(join(folder, 'cache/npx', encodeURIComponent(source)));

    expect(kept).toHaveLength(5);
    expect(await firstLineOf(`npx://${source}`)).toBe('6');
  });

  test('runs none of its scripts', async () => {
    const scripts = Object.fromEntries(
      ['preinstall', 'install', 'postinstall', 'prepare'].map((name) => [
        name,
        'echo ran > /opt/toolhive/package/ran',
      ]),
    );
    const program = `console.log(require('fs').readdirSync(__dirname).includes('ran'))`;
    const source = await nodePackage({ scripts, dependencies: { dependency: '^1' } }, program);

    expect(await firstLineOf(`npx://${source}`)).toBe('false');
  });

  test.each([
    ['a bin outside of it', { bin: '../../../secret' }, 'names the path "../../../secret" outside itself'],
    [
      'a bin that a link leads out',
      { bin: 'gone.js' },
      'names the program "gone.js", but does not contain it',
    ],
    ['a program that is not built', { bin: 'dist/main.js' }, 'names the program "dist/main.js"'],
    [
      'a dependency of this machine',
      { dependencies: { x: 'file:../secret' } },
      'x comes from file:../secret',
    ],
    ['a dependency that does not exist', { dependencies: { nowhere: '1' } }, 'nowhere'],
  ])('is refused with %s', async (_name, manifest, message) => {
    const source = await nodePackage(manifest);
    await symlink('node_modules/main.js', join(source, 'gone.js'));

    await expect(prepare(`npx://${source}`)).rejects.toThrow(message);
  });
});

test('a script runs without anything else of its directory', async () => {
  const program = `console.log(require('fs').readdirSync(__dirname).join(), process.argv[2])`;
  const source = await aDirectory({ 'server.js': program, other: 'PRIVATE' });

  expect(await firstLineOf(`npx://${source}/server.js`)).toBe('server.js one');
});

test('an archive of npm pack runs with its dependencies', async () => {
  const program = `#!/usr/bin/env node\nconsole.log(require('dependency'), process.argv[2])`;
  const manifest = { version: '1.0.0', dependencies: { dependency: '1' } };
  const source = await nodePackage(manifest, program);
  await run('npm', ['pack', '--pack-destination', folder], { cwd: source });

  expect(await firstLineOf(`npx://${folder}/mine-1.0.0.tgz`)).toBe('hello one');
});

describe('Python', () => {
  const script = 'import sys\nprint("hello", sys.argv[1])\n';

  test('runs a script', async ({ skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const source = await aDirectory({ 'server.py': script });

    expect(await firstLineOf(`uvx://${source}/server.py`)).toBe('hello one');
  });

  test.each([
    ['that it names itself', '# /// script\n# dependencies = ["greeting"]\n# ///\n', {}],
    ['that the user adds', '', { with: ['greeting'] }],
  ])('runs a script with the packages %s', async (_name, metadata, options) => {
    if (uvPath === undefined) return; // said by the test above
    const source = await aDirectory({ 'server.py': `${metadata}import greeting\nprint(greeting.WORD)\n` });

    expect(await firstLineOf(`uvx://${source}/server.py`, options)).toBe('hello');
  });

  test('runs a wheel', async ({ skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const wheel = wheelOf({
      name: 'mine',
      version: '1.0.0',
      files: { 'mine.py': `import greeting, sys\ndef main(): print(greeting.WORD, sys.argv[1])\n` },
      requires: ['greeting'],
      scripts: ['mine-server = mine:main'],
    });
    const source = await aDirectory({ 'mine-1.0.0-py3-none-any.whl': wheel });

    expect(await firstLineOf(`uvx://${source}/mine-1.0.0-py3-none-any.whl`)).toBe('hello one');
  });

  test('builds and runs a project', async ({ skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const source = await aDirectory({
      'pyproject.toml': `[project]
name = "mine"
version = "1.0.0"
dependencies = ["greeting"]
[project.scripts]
mine = "mine:main"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
`,
      'backend.py': `import os, shutil
def build_wheel(directory, *_):
    name = "mine-1.0.0-py3-none-any.whl"
    shutil.copy("built.whl", os.path.join(directory, name))
    return name
`,
      'built.whl': wheelOf({
        name: 'mine',
        version: '1.0.0',
        files: {
          'mine.py': `import greeting, sys\ndef main(): print(greeting.WORD, sys.argv[1])\ndef other(): print('other', sys.argv[1])\n`,
        },
        requires: ['greeting'],
        scripts: ['mine = mine:main', 'mine-http = mine:other'],
      }),
    });

    expect(await firstLineOf(`uvx://${source}`)).toBe('hello one');
    expect(await firstLineOf(`uvx://${source}#program=mine-http`)).toBe('other one');
  });
});

test('the directory that a server was granted cannot be swapped for another', async () => {
  const source = await nodePackage();
  const granted = await pinSource(source);
  await prepare(`npx://${source}`, {}, granted);
  await rename(source, `${source}-before`);
  await symlink(`${source}-before`, source);

  await expect(prepare(`npx://${source}`, {}, granted)).rejects.toMatchObject({ kind: 'conflict' });
});
