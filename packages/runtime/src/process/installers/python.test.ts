// @suite system (in depth)
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Instance } from '../../runtime.ts';
import { parseSource, withOptions } from '../../source.ts';
import { aLaunch } from '../../testing/conformance.ts';
import { type Wheel, openPythonIndex } from '../../testing/python-index.ts';
import type { WebServer } from '../../testing/web-server.ts';
import { uvPrograms } from '../../testing/uv.ts';
import { openProcessRuntime } from '../process.ts';
import { never } from '../test-rig.ts';

const run = promisify(execFile);
const files = { 'server.py': 'def main(): pass\n' };
const scripts = ['server = server:main'];

/** A server that prints the flags in its own compiled module and in that of a dependency. */
const flagsOfCompiled = `import imported
def flags(path):
    with open(path, 'rb') as file:
        return int.from_bytes(file.read(8)[4:], 'little')
def main():
    print(flags(__cached__), flags(imported.__cached__), flush=True)
    input()
`;

/** Packages that need a Python that no machine has, each through another dependency. */

/** A server that prints the version of its SDK. */
const usesSdk = {
  version: '1.0.0',
  files: { 'uses.py': 'import mcp\ndef main():\n    print(mcp.version, flush=True)\n    input()\n' },
  requires: ['mcp'],
  scripts: ['uses = uses:main'],
};

const wheels: readonly Wheel[] = [
  { name: 'modest', version: '1.0.0', files, scripts },
  {
    name: 'bare',
    version: '1.0.0',
    files: {
      'bare_tools/__init__.py': '',
      'bare_tools/__main__.py': 'print("a module", flush=True)\ninput()\n',
    },
  },
  {
    name: 'functional',
    version: '1.0.0',
    files: {
      'functions/__init__.py': 'from . import server\n',
      'functions/server.py':
        'async def run(): pass\n\ndef main():\n    print("a function", flush=True)\n    input()\n',
    },
  },
  {
    name: 'asynchronous',
    version: '1.0.0',
    files: { 'tasks/__init__.py': '', 'tasks/server.py': 'async def main(): pass\n' },
  },
  { name: 'library', version: '1.0.0', files: { 'library.py': '' } },
  { name: 'direct', version: '1.0.0', files, scripts, requiresPython: '>=3.15' },
  { name: 'server', version: '1.0.0', files, scripts, requiresPython: '>=3.14', requires: ['middle'] },
  { name: 'middle', version: '1.0.0', files: {}, requiresPython: '>=3.15', requires: ['last'] },
  { name: 'last', version: '1.0.0', files: {}, requiresPython: '>=3.16' },
  { name: 'aging', version: '1.0.0', files, scripts },
  { name: 'aging', version: '2.0.0', files, scripts, requires: ['unbuilt'] },
  { name: 'unbuilt', version: '1.0.0', files: { 'unbuilt.py': '' }, isSource: true },
  { name: 'early', version: '1.0.0', files, scripts },
  { name: 'early', version: '2.0b1', files, scripts },
  { name: 'settled', version: '1.0.0', files, scripts },
  { name: 'settled', version: '2.0.0', files, scripts, requires: ['unknown-to-this-index'] },
  {
    name: 'caller',
    version: '1.0.0',
    files: { 'caller.py': 'import subprocess\ndef main(): subprocess.run(["helper"], check=True)\n' },
    scripts: ['caller = caller:main'],
    requires: ['helping'],
  },
  {
    name: 'helping',
    version: '1.0.0',
    files: { 'helping.py': 'def main():\n    print("helped", flush=True)\n    input()\n' },
    scripts: ['helper = helping:main'],
  },
  { name: 'outer', version: '2.0.0', files: {}, requires: ['inner'] },
  {
    name: 'inner',
    version: '1.0.0',
    files: { 'inner.py': 'def main():\n    print("an inner program", flush=True)\n    input()\n' },
    scripts: ['outer = inner:main', 'another = inner:main'],
  },
  {
    name: 'imports',
    version: '1.0.0',
    files: { 'imports/__init__.py': flagsOfCompiled },
    scripts: ['imports = imports:main'],
    requires: ['imported'],
  },
  { name: 'imported', version: '1.0.0', files: { 'imported/__init__.py': '' } },
  ...['1.27.0', '2.3.0'].map((version) => ({
    name: 'mcp',
    version,
    files: { 'mcp.py': `version = "${version}"\n` },
    publishedAt: '2026-01-01T00:00:00Z',
  })),
  { ...usesSdk, name: 'older', publishedAt: '2026-07-01T00:00:00Z' },
  { ...usesSdk, name: 'newer', publishedAt: '2026-09-01T00:00:00Z' },
  { ...usesSdk, name: 'adapted', publishedAt: '2026-07-01T00:00:00Z', requires: ['mcp>=2'] },
  {
    name: 'broken',
    version: '1.0.0',
    files: {
      'broken/__init__.py': 'def main():\n    print("works", flush=True)\n    input()\n',
      'broken/template.py': 'def {{ name }}():\n',
      'broken/nested.py': `value = ${'('.repeat(5000)}`,
    },
    scripts: ['broken = broken:main'],
  },
];

let folder: string;
let index: WebServer;
let uvPath: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-python-'));
  index = await openPythonIndex(wheels);
  uvPath = await uvPrograms().catch(() => undefined);
});
afterAll(async () => {
  await index[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/**
 * The first line of a program. It can come in two parts. The program waits for input afterwards, so that its end cannot come
 * before its output.
 */
function firstOutput({ stdio }: Instance): Promise<string> {
  const line = Promise.withResolvers<string>();
  let text = '';
  stdio!.output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (text.includes('\n')) line.resolve(text);
  });
  return line.promise;
}

function openRuntime(
  name: string,
  { home = folder, programs = '/usr/bin:/bin' } = {},
): ReturnType<typeof openProcessRuntime> {
  return openProcessRuntime({
    daemonId: `python-${folder.slice(-6)}`,
    cacheDir: join(folder, name, 'cache'),
    tempDir: join(folder, name, 'tmp'),
    bundlesDir: join(folder, name, 'bundles'),
    homesDir: join(folder, name, 'homes'),
    env: {
      PATH: `${uvPath}:${dirname(process.execPath)}:${programs}`,
      HOME: home,
      UV_DEFAULT_INDEX: `${index.origin}/simple`,
      UV_PYTHON_INSTALL_MIRROR: 'http://127.0.0.1:9',
    },
  });
}

test.for([
  '.pyenv/versions/VERSION',
  '.asdf/installs/python/VERSION',
  '.local/share/mise/installs/python/VERSION',
])(
  'a Python version that a version manager keeps in %s, but whose launcher on PATH fails, is used',
  async (place, { skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const about = 'import sys; print("%d.%d" % sys.version_info[:2], sys.executable)';
    const [version = '', program = ''] = (await run('python3', ['-c', about])).stdout.trim().split(' ');
    const home = join(folder, place.split('/')[0]!);
    const kept = join(home, place.replace('VERSION', version), 'bin');
    const launchers = join(home, 'shims');
    await Promise.all([kept, launchers].map((path) => mkdir(path, { recursive: true })));
    await symlink(program, join(kept, 'python3'));
    const failing = `#!/bin/sh\necho "python${version}: command not found" >&2\nexit 127\n`;
    for (const name of await readdir('/usr/bin'))
      if (!name.startsWith('python')) await symlink(join('/usr/bin', name), join(launchers, name));
    for (const name of ['python', 'python3', `python${version}`])
      await writeFile(join(launchers, name), failing, { mode: 0o755 });
    const runtime = openRuntime(`kept-${place.slice(1, 5)}`, { home, programs: launchers });

    const source = withOptions(parseSource('uvx://modest'), { python: version });
    const prepared = await runtime.prepare(source, { report: () => {}, signal: never });

    expect(prepared).toMatchObject({ name: 'modest', version: '1.0.0' });
  },
);

test.for([
  ['bare', 'start its module instead: thv run uvx --from bare python -m bare_tools'],
  [
    'functional',
    "start its main function instead: thv run uvx --from functional python -c 'import functions.server as server; server.main()'",
  ],
  ['asynchronous', 'the package is a library rather than a server'],
  ['library', 'the package is a library rather than a server'],
])('%s, which has no program, says what can be started', async ([name, hint], { skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime(`${name}-hint`);

  const preparing = runtime.prepare(parseSource(`uvx://${name}`), { report: () => {}, signal: never });

  await expect(preparing).rejects.toMatchObject({
    message: `package ${name} has no program to run`,
    hint,
  });
});

test('a module of a package without a program is started', async ({ skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('module');
  const source = parseSource('uvx://bare#program=python');

  const prepared = await runtime.prepare(source, { report: () => {}, signal: never });
  await using server = await runtime.start(aLaunch(prepared, { args: ['-m', 'bare_tools'] }), never);

  expect(await firstOutput(server)).toBe('a module\n');
});

test('the main function of a package without a program is started', async ({ skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('function');
  const source = parseSource('uvx://functional#program=python');

  const prepared = await runtime.prepare(source, { report: () => {}, signal: never });
  const args = ['-c', 'import functions.server as server; server.main()'];
  await using server = await runtime.start(aLaunch(prepared, { args }), never);

  expect(await firstOutput(server)).toBe('a function\n');
});

test.for([
  ['that the package needs', 'direct', '3.15'],
  ['that a dependency of a dependency needs', 'server', '3.16'],
] as const)('a Python version %s is named in one step', async ([, name, version], { skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime(name);

  const preparing = runtime.prepare(parseSource(`uvx://${name}`), { report: () => {}, signal: never });

  await expect(preparing).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(`no suitable Python ${version} is installed`),
    hint: expect.stringContaining(`install Python ${version} and add it to PATH`),
  });
});

test.for([
  ['whose newest version depends on a package without a wheel', 'aging', '2.0.0'],
  ['whose newest version depends on a package that no index has', 'settled', '1.0.0'],
  ['of which only wheels are needed', 'caller', '1.0.0'],
] as const)(
  'a package %s is installed in the newest possible version',
  async ([, name, version], { skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const runtime = openRuntime(`newest-${name}`);

    const prepared = await runtime.prepare(parseSource(`uvx://${name}`), { report: () => {}, signal: never });

    expect(prepared).toMatchObject({ name, version });
  },
);

test('a server starts the programs of its dependencies by their names', async ({ skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('caller');

  const prepared = await runtime.prepare(parseSource('uvx://caller'), { report: () => {}, signal: never });
  await using server = await runtime.start(aLaunch(prepared), never);

  expect(await firstOutput(server)).toBe('helped\n');
});

test('a package whose program a dependency has is started with this program', async ({ skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('outer');

  const prepared = await runtime.prepare(parseSource('uvx://outer'), { report: () => {}, signal: never });
  await using server = await runtime.start(aLaunch(prepared), never);

  expect(prepared).toMatchObject({ name: 'outer', version: '2.0.0' });
  expect(await firstOutput(server)).toBe('an inner program\n');
});

test.for([
  ['from before version 2 of the SDK gets version 1', 'older', {}, '1.27.0'],
  ['from after version 2 of the SDK gets the newest version', 'newer', {}, '2.3.0'],
  ['that needs version 2 gets it', 'adapted', {}, '2.3.0'],
  ['gets the version that the user chooses', 'older', { with: ['mcp>=2'] }, '2.3.0'],
] as const)('a server %s', async ([title, name, options, version], { skip }) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime(title.replaceAll(' ', '-'));
  const source = withOptions(parseSource(`uvx://${name}#program=uses`), { ...options });
  const steps: string[] = [];

  const prepared = await runtime.prepare(source, { report: (step) => steps.push(step), signal: never });
  await using server = await runtime.start(aLaunch(prepared), never);

  expect(await firstOutput(server)).toBe(`${version}\n`);
  expect(steps.some((step) => step.includes('gets version 1'))).toBe(version === '1.27.0');
});

test('the modules of a package and its dependencies are compiled once, at its installation', async ({
  skip,
}) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('compiled');

  const prepared = await runtime.prepare(parseSource('uvx://imports'), { report: () => {}, signal: never });
  await using server = await runtime.start(aLaunch(prepared), never);

  const checksSource = 3;
  expect(await firstOutput(server)).toBe(`${checksSource} ${checksSource}\n`);
});

test('a module that Python cannot compile does not keep its package from being installed', async ({
  skip,
}) => {
  if (uvPath === undefined) skip('uv cannot be had here');
  const runtime = openRuntime('broken');

  const prepared = await runtime.prepare(parseSource('uvx://broken'), { report: () => {}, signal: never });
  await using server = await runtime.start(aLaunch(prepared), never);

  expect(await firstOutput(server)).toBe('works\n');
});

test.for([
  [undefined, '1.0.0'],
  ['allow', '2.0b1'],
  ['disallow', '1.0.0'],
] as const)(
  'with the choice %s of pre-releases, version %s is the newest',
  async ([prerelease, version], { skip }) => {
    if (uvPath === undefined) skip('uv cannot be had here');
    const runtime = openRuntime('early');
    const source = withOptions(parseSource('uvx://early'), prerelease === undefined ? {} : { prerelease });

    const prepared = await runtime.prepare(source, { report: () => {}, signal: never });

    expect(prepared).toMatchObject({ name: 'early', version });
  },
);
