// @suite system (in depth)
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from '../../runtime.ts';
import { type PackageOptions, type PackageSource, parseSource, withOptions } from '../../source.ts';
import { aLaunch } from '../../testing/conformance.ts';
import { type GitServer, openGitServer } from '../../testing/git-server.ts';
import { type NpmRegistry, openNpmRegistry } from '../../testing/npm-registry.ts';
import { openPythonIndex, wheelOf } from '../../testing/python-index.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { uvPrograms } from '../../testing/uv.ts';
import { openProcessRuntime } from '../process.ts';
import { never, outputOf } from '../test-rig.ts';

const run = promisify(execFile);

let folder: string;
let git: GitServer;
let registry: NpmRegistry;
let index: WebServer;
let uvPath: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-from-git-'));
  git = await openGitServer();
  const dependency = join(folder, 'dependency');
  await mkdir(dependency);
  await writeFile(join(dependency, 'package.json'), JSON.stringify({ name: 'dependency', version: '1.0.0' }));
  await writeFile(join(dependency, 'index.js'), `module.exports = 'hello'`);
  registry = await openNpmRegistry([dependency]);
  index = await openPythonIndex([
    { name: 'greeting', version: '1.0.0', files: { 'greeting.py': 'WORD = "hello"\n' } },
  ]);
  uvPath = await uvPrograms().catch(() => undefined);
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await index[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

let homes = 0;

/** A runtime of a user with a home directory and an empty cache. */
function aRuntime(env: NodeJS.ProcessEnv = {}): Runtime {
  const place = join(folder, `daemon-${++homes}`);
  return openProcessRuntime({
    daemonId: `git-${folder.slice(-6)}-${homes}`,
    cacheDir: join(place, 'cache'),
    tempDir: join(place, 'tmp'),
    bundlesDir: join(place, 'bundles'),
    homesDir: join(place, 'homes'),
    env: {
      ...process.env,
      PATH: `${uvPath ?? ''}:${process.env['PATH']}`,
      npm_config_registry: registry.url,
      UV_DEFAULT_INDEX: `${index.origin}/simple`,
      ...env,
    },
  });
}

async function prepare(runtime: Runtime, text: string, options: PackageOptions = {}): Promise<PackageSource> {
  const source = withOptions(parseSource(text), options);
  const prepared = await runtime.prepare(source, { report: () => {}, signal: never });
  return prepared as PackageSource; // it was a package before
}

/** What the server of a source writes first. */
async function firstLineOf(runtime: Runtime, source: PackageSource): Promise<string> {
  await using instance = await runtime.start(aLaunch(source, { args: ['one'] }), never);
  return (await outputOf(instance)).split('\n')[0] ?? '';
}

const nodeServer = (says: string, manifest: object = {}) => ({
  'package.json': JSON.stringify({ name: 'from-git', version: '1.0.0', bin: 'main.js', ...manifest }),
  'main.js': `#!/usr/bin/env node\nconsole.log(${says}, process.argv[2]);\n`,
});

/** A project whose own backend, without any download, builds a wheel with two programs. */
const pythonServer = (says = 'greeting.WORD', requires: readonly string[] = ['greeting']) => ({
  'pyproject.toml': [
    '[project]\nname = "from-git"\nversion = "1.0.0"',
    `dependencies = ${JSON.stringify(requires)}`,
    '[project.scripts]\nfrom-git = "from_git:main"\nother = "from_git:other"',
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
  ].join('\n'),
  'backend.py': [
    'import os, shutil',
    'def build_wheel(directory, *_):',
    '    shutil.copy("built.whl", os.path.join(directory, "from_git-1.0.0-py3-none-any.whl"))',
    '    return "from_git-1.0.0-py3-none-any.whl"\n',
  ].join('\n'),
  'built.whl': wheelOf({
    name: 'from-git',
    version: '1.0.0',
    files: {
      'from_git.py': `import greeting, sys\ndef main(): print(${says}, sys.argv[1])\ndef other(): print("other", sys.argv[1])\n`,
    },
    requires,
    scripts: ['from-git = from_git:main', 'other = from_git:other'],
  }),
});

const at = (scheme: 'npx' | 'uvx', repository: string, rest = '') =>
  `${scheme}://git+${git.origin}/${repository}${rest}`;

describe('an npm package in a Git repository', () => {
  test('is pinned to the commit of the default branch, and runs with its dependencies', async () => {
    const runtime = aRuntime();
    const files = nodeServer(`require('dependency')`, { dependencies: { dependency: '^1' } });
    const commit = await git.commit('node/plain', files);

    const prepared = await prepare(runtime, at('npx', 'node/plain'));

    expect(prepared.version).toBe(commit);
    expect(await firstLineOf(runtime, prepared)).toBe('hello one');
  });

  test('stays at its commit until the newest one is looked up', async () => {
    const runtime = aRuntime();
    const first = await git.commit('node/moving', nodeServer('"first"'));
    const prepared = await prepare(runtime, at('npx', 'node/moving', '#main'));
    const second = await git.commit('node/moving', nodeServer('"second"'));

    const again = await runtime.prepare(prepared, { report: () => {}, signal: never });
    const newest = await runtime.newest?.(prepared, { report: () => {}, signal: never });

    expect(prepared).toMatchObject({ version: first, git: { ref: 'main' } });
    expect(again).toEqual(prepared);
    expect(await firstLineOf(runtime, prepared)).toBe('first one');
    expect(newest).toEqual({ version: second });
  });

  test('is found at a branch, a tag, an annotated tag, a range of tags, and an abbreviated commit', async () => {
    const runtime = aRuntime();
    const first = await git.commit('node/named', nodeServer('"1"'));
    await git.git('node/named', 'tag', '-a', 'v1.0.0', '-m', 'the first');
    const second = await git.commit('node/named', nodeServer('"2"'));
    await git.git('node/named', 'tag', '1.2.0');
    await git.git('node/named', 'checkout', '-q', '-b', 'feature/new');
    const third = await git.commit('node/named', nodeServer('"3"'));
    await git.git('node/named', 'checkout', '-q', 'main');
    const refs = [
      '#feature/new',
      '#1.2.0',
      '#v1.0.0',
      '#semver:^1.0.0',
      '#semver:~1.0',
      `#${third.slice(0, 9)}`,
    ];

    const found = await Promise.all(
      refs.map(async (ref) => (await prepare(runtime, at('npx', 'node/named', ref))).version),
    );

    expect(found).toEqual([third, second, first, second, first, third]);
  });

  test('runs the program of a subdirectory that the user names', async () => {
    const runtime = aRuntime();
    const files = nodeServer('"inner"', { bin: { one: 'main.js', two: 'missing.js' } });
    await git.commit(
      'node/many',
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`packages/server/${path}`, text])),
    );

    const prepared = await prepare(
      runtime,
      at('npx', 'node/many', '#subdirectory=packages/server&program=one'),
    );

    expect(await firstLineOf(runtime, prepared)).toBe('inner one');
  });

  test('is built only if the user allows its script', async () => {
    const runtime = aRuntime();
    await git.commit('node/source', {
      'package.json': JSON.stringify({
        name: 'unbuilt',
        version: '1.0.0',
        bin: 'dist/main.js',
        scripts: { prepare: 'node build.js' },
        devDependencies: { dependency: '1' },
      }),
      'build.js': `const { mkdirSync, writeFileSync } = require('fs'); mkdirSync('dist');
        writeFileSync('dist/main.js', 'console.log(' + JSON.stringify(require('dependency')) + ', process.argv[2])');`,
    });
    const refused = prepare(runtime, at('npx', 'node/source'));
    await expect(refused).rejects.toMatchObject({ hint: expect.stringContaining('--allow-scripts unbuilt') });

    const prepared = await prepare(runtime, at('npx', 'node/source'), { allowScripts: ['unbuilt'] });

    expect(await firstLineOf(runtime, prepared)).toBe('hello one');
  });

  test.each([
    ['git', (origin: string) => `git+${origin}/node/plain`],
    ['GitHub', () => 'someone/something'],
    ['a path', () => 'file:../../other'],
  ])('is refused if a dependency comes from %s', async (_title, from) => {
    await git.commit('node/nested', nodeServer('1', { dependencies: { other: from(git.origin) } }));
    const asked = git.requests.length;

    const preparing = prepare(aRuntime(), at('npx', 'node/nested'));

    await expect(preparing).rejects.toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('does not come entirely from a package registry: other comes from'),
    });
    expect(git.requests.slice(asked).filter((request) => request.includes('node/plain'))).toEqual([]);
  });
});

describe('a Python package in a Git repository', () => {
  test.beforeEach(({ skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
  });

  test('is pinned to a commit, and runs with its dependencies', async () => {
    const runtime = aRuntime();
    const commit = await git.commit('python/plain', pythonServer());

    const prepared = await prepare(runtime, at('uvx', 'python/plain', '@main'));

    expect(prepared).toMatchObject({ version: commit, git: { ref: 'main' } });
    expect(await firstLineOf(runtime, prepared)).toBe('hello one');
  });

  test('runs the program that the user names, in a subdirectory', async () => {
    const runtime = aRuntime();
    const files = Object.entries(pythonServer()).map(
      ([path, text]) => [`deep/server/${path}`, text] as const,
    );
    await git.commit('python/many', Object.fromEntries(files));

    const prepared = await prepare(
      runtime,
      at('uvx', 'python/many', '#subdirectory=deep/server&program=other'),
    );

    expect(await firstLineOf(runtime, prepared)).toBe('other one');
  });

  test('can read its version from the commit while it is built', async () => {
    const { 'backend.py': backend, ...files } = pythonServer();
    const asking = `import subprocess\nsubprocess.run(["git", "describe", "--always"], check=True)\n${backend}`;
    await git.commit('python/version', { ...files, 'backend.py': asking });
    const runtime = aRuntime();

    const prepared = await prepare(runtime, at('uvx', 'python/version'));

    expect(await firstLineOf(runtime, prepared)).toBe('hello one');
  });

  test('is refused if a dependency comes from Git', async () => {
    await git.commit('python/nested', pythonServer('1', [`other @ git+${git.origin}/python/plain`]));
    const asked = git.requests.length;

    const preparing = prepare(aRuntime(), at('uvx', 'python/nested'));

    await expect(preparing).rejects.toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('does not come entirely from a package registry: other comes from'),
    });
    expect(git.requests.slice(asked).filter((request) => request.includes('python/plain'))).toEqual([]);
  });
});

describe('a hostile repository', () => {
  test('starts none of its hooks, filters, and submodules', async () => {
    const marker = join(folder, 'ran');
    await git.commit('hostile/hooks', {
      ...nodeServer('require("fs").existsSync(__dirname + "/sub/file")'),
      '.gitattributes': '* filter=evil\n',
      '.gitmodules': `[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c touch% ${marker}\n`,
    });
    const runtime = aRuntime({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'filter.evil.smudge',
      GIT_CONFIG_VALUE_0: `touch ${marker}`,
    });

    const prepared = await prepare(runtime, at('npx', 'hostile/hooks'));

    expect(await firstLineOf(runtime, prepared)).toBe('false one');
    await expect(access(marker)).rejects.toThrow('ENOENT');
  });

  test.each([
    ['the program', 'main.js', '/etc/passwd'],
    ['the manifest', 'package.json', '/etc/hostname'],
  ])('does not lead out of itself with a link instead of %s', async (_title, path, target) => {
    const repository = `hostile/link-${path}`;
    const { [path as 'main.js']: _left, ...files } = nodeServer('1');
    await git.link(repository, path, target);
    await git.commit(repository, files);

    await expect(prepare(aRuntime(), at('npx', repository))).rejects.toMatchObject({ kind: 'unsupported' });
  });

  test('does not lead out of itself with a link instead of a subdirectory', async () => {
    await git.link('hostile/subdirectory', 'inner', '/etc');
    await git.commit('hostile/subdirectory', nodeServer('1'));

    const preparing = prepare(aRuntime(), at('npx', 'hostile/subdirectory', '#subdirectory=inner'));

    await expect(preparing).rejects.toThrow('has no directory inner');
  });
});

test.each([
  ['a missing repository', 'no/such', '', 'does not exist, or is private'],
  ['a missing branch', 'node/exists', '#nowhere', 'has no branch, tag, or commit nowhere'],
  ['a missing abbreviated commit', 'node/exists', '#abcdef0', 'has no branch, tag, or commit abcdef0'],
  ['a missing commit', 'node/exists', `#${'a'.repeat(40)}`, 'has no commit aaaaaaaaaaaa'],
  ['a missing directory', 'node/exists', '#subdirectory=src', 'has no directory src'],
])('%s is named', async (_title, repository, rest, message) => {
  await git.commit('node/exists', nodeServer('1'));

  await expect(prepare(aRuntime(), at('npx', repository, rest))).rejects.toMatchObject({
    kind: 'not-found',
    message: expect.stringContaining(message),
  });
});

test('a missing repository can be a scoped package whose name lacks its @', async () => {
  await expect(prepare(aRuntime(), at('npx', 'no/such'))).rejects.toMatchObject({
    hint: expect.stringContaining('For a package in the npm registry, use npx://@no/such'),
  });
});

test('a machine without git is told how to get it', async () => {
  const bin = await mkdtemp(join(folder, 'bin-'));
  for (const program of ['bwrap', 'ip', 'nsenter', 'node', 'npm']) {
    const { stdout } = await run('sh', ['-c', `command -v ${program} || true`]);
    if (stdout.trim() !== '') await run('ln', ['-s', stdout.trim(), join(bin, program)]);
  }
  const runtime = aRuntime({ PATH: `${bin}:${dirname(process.execPath)}` });

  await expect(prepare(runtime, at('npx', 'node/plain'))).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'git is not installed',
    hint: expect.stringContaining('apt install git'),
  });
});
