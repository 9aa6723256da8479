// @suite system
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Install } from './installers/install.ts';
import { ownDirectories } from './own-directories.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-own-'));
  return () => rm(folder, { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

const started = (command: string, ...args: string[]): Install => ({
  version: '1.0.0',
  command,
  args,
  readOnlyPaths: [],
});

const packages = 'tools/my-server/lib/python3.13/site-packages';
const python = started('tools/my-server/bin/python', 'tools/my-server/bin/my-server');

describe('the own directories of a package', () => {
  test.each([
    ['of npm', started('node', 'node_modules/server/dist/main.js'), 'node_modules/server'],
    ['of npm with a scope', started('node', 'node_modules/@a/server/main.js'), 'node_modules/@a/server'],
    ['of npm with a binary', started('node_modules/server/bin/server'), 'node_modules/server'],
    ['of a local directory', started('node', 'dist/main.js'), ''],
    ['of a Python script', started('venv/bin/python', 'server.py'), ''],
  ])('%s leave out its dependencies', async (_title, install, path) => {
    await write({
      [join(path, 'main.js')]: '',
      [join(path, 'node_modules/x/index.js')]: '',
      [join(path, 'venv/pyvenv.cfg')]: '',
    });

    expect(await ownDirectories(folder, install)).toEqual([
      {
        path,
        inner: expect.toSatisfy((inner: string[]) =>
          new Set(['node_modules', 'venv']).isSubsetOf(new Set(inner)),
        ),
      },
    ]);
  });

  test('of npm include the frameworks that use the SDK of MCP, each without its dependencies', async () => {
    await write({
      'node_modules/@a/server/main.js': '',
      'node_modules/@a/server/package.json': JSON.stringify({
        dependencies: {
          framework: '1',
          '@a/core': '1',
          '@modelcontextprotocol/sdk': '1',
          other: '1',
          '../x': '1',
        },
      }),
      'node_modules/framework/package.json': JSON.stringify({
        dependencies: { '@modelcontextprotocol/sdk': '1' },
      }),
      'node_modules/framework/node_modules/x/index.js': '',
      'node_modules/@a/core/package.json': JSON.stringify({
        peerDependencies: { '@modelcontextprotocol/server': '2' },
      }),
      'node_modules/@modelcontextprotocol/sdk/package.json': JSON.stringify({ dependencies: { zod: '4' } }),
      'node_modules/other/package.json': JSON.stringify({ dependencies: { zod: '4' } }),
    });

    expect(await ownDirectories(folder, started('node', 'node_modules/@a/server/main.js'))).toEqual([
      { path: 'node_modules/@a/server', inner: [] },
      { path: 'node_modules/framework', inner: ['node_modules'] },
      { path: 'node_modules/@a/core', inner: [] },
    ]);
  });

  test('of npm do not lead out of the package, and large frameworks stay read-only', async () => {
    const uses = JSON.stringify({ dependencies: { '@modelcontextprotocol/sdk': '1' } });
    await write({
      'node_modules/server/main.js': '',
      'node_modules/server/package.json': JSON.stringify({
        dependencies: { link: '1', '../..': '1', large: '1' },
      }),
      'package.json': uses,
      'elsewhere/package.json': uses,
      'node_modules/large/package.json': uses,
      'node_modules/large/data': '',
    });
    await symlink(join(folder, 'elsewhere'), join(folder, 'node_modules/link'));
    await truncate(join(folder, 'node_modules/large/data'), 65 * 1024 ** 2);

    expect(await ownDirectories(folder, started('node', 'node_modules/server/main.js'))).toEqual([
      { path: 'node_modules/server', inner: [] },
    ]);
  });

  test('of npm do not include a framework behind hundreds of dependencies, which take time to read', async () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`other-${index}`, '1']));
    await write({
      'node_modules/server/main.js': '',
      'node_modules/server/package.json': JSON.stringify({ dependencies: { ...many, framework: '1' } }),
      'node_modules/framework/package.json': JSON.stringify({
        dependencies: { '@modelcontextprotocol/sdk': '1' },
      }),
    });

    expect(await ownDirectories(folder, started('node', 'node_modules/server/main.js'))).toEqual([
      { path: 'node_modules/server', inner: [] },
    ]);
  });

  test('of a Python tool are the modules that its own record lists', async () => {
    await write({
      [`${packages}/my_server/main.py`]: '',
      [`${packages}/my_server_data/x.json`]: '',
      [`${packages}/dependency/main.py`]: '',
      [`${packages}/my_server-1.0.0.dist-info/RECORD`]:
        'my_server/main.py,,\nmy_server_data/x.json,,\nmy_server-1.0.0.dist-info/RECORD,,\n../../../bin/my-server,,\n',
      [`${packages}/dependency-1.0.0.dist-info/RECORD`]: 'dependency/main.py,,\n',
    });

    expect((await ownDirectories(folder, python))?.map(({ path }) => path)).toEqual([
      `${packages}/my_server`,
      `${packages}/my_server_data`,
    ]);
  });

  test('do not lead out of the package, whatever its record says', async () => {
    await write({
      [`${packages}/my_server-1.0.0.dist-info/RECORD`]:
        '../../x,,\n/etc/passwd,,\n..,,\n.,,\nlink/x,,\n__pycache__/x,,\n',
      [`${packages}/__pycache__/x`]: '',
    });
    await symlink('/etc', join(folder, packages, 'link'));

    expect(await ownDirectories(folder, python)).toBeUndefined();
  });

  test('do not exist for a package of Go', async () => {
    await write({ 'bin/server': '' });

    expect(await ownDirectories(folder, started('bin/server'))).toBeUndefined();
  });

  test('stay read-only if they are large', async () => {
    await write({ 'node_modules/server/main.js': '', 'node_modules/server/large': '' });
    await truncate(join(folder, 'node_modules/server/large'), 65 * 1024 ** 2);

    expect(await ownDirectories(folder, started('node', 'node_modules/server/main.js'))).toBeUndefined();
  });
});
