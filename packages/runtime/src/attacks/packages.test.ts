// @suite system (in depth)
import { execFile } from 'node:child_process';
import {
  access,
  chmod,
  mkdir,
  mkdtempDisposable,
  readFile,
  readdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openProcessRuntime } from '../process/process.ts';
import { never } from '../process/test-rig.ts';
import { PackageStore } from '../process/store.ts';
import { inside } from '../process/plan.ts';
import { machineOf } from '../process/test-rig.ts';
import type { PackageContents, PrepareOptions } from '../runtime.ts';
import type { PackageSource } from '../source.ts';
import { aLaunch } from '../testing/conformance.ts';
import { openGoProxy } from '../testing/go-proxy.ts';
import { openNpmRegistry } from '../testing/npm-registry.ts';
import { type Wheel, openPythonIndex, wheelOf } from '../testing/python-index.ts';
import { uvPrograms } from '../testing/uv.ts';
import { openWebServer } from '../testing/web-server.ts';
import { proves } from '@toolhive/testing/promises';

// Hostile packages of each ecosystem from registries of this test. Each tries to run code on the machine, to read it, to
// reach its loopback, or to decide what its server gets.

const run = promisify(execFile);

/** A machine with something to steal: a home directory, a marker that only code outside a sandbox can make. */
async function makeTarget() {
  const root = await mkdtempDisposable(join(tmpdir(), 'thv-attack-'));
  onTestFinished(() => root.remove());
  const home = join(root.path, 'home');
  await mkdir(join(home, '.ssh'), { recursive: true });
  await writeFile(join(home, '.ssh', 'id_ed25519'), 'PRIVATE KEY');
  const path = (name: string) => join(root.path, name);
  const options = {
    daemonId: `attack-${root.path.slice(-6)}`,
    cacheDir: path('cache'),
    tempDir: path('tmp'),
    bundlesDir: path('bundles'),
    homesDir: path('homes'),
  };
  const env = (changes: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...process.env, HOME: home, ...changes });
  return {
    path,
    home,
    marker: path('ran-on-the-host'),
    prepare(source: PackageSource, changes: NodeJS.ProcessEnv, allowed: string[] = []) {
      const runtime = openProcessRuntime({ ...options, env: env(changes) });
      return runtime.prepare(source, { report: () => {}, signal: never, allowedSources: () => allowed });
    },
    store: (changes: NodeJS.ProcessEnv) =>
      new PackageStore({ ...options, env: env(changes) }, () => machineOf(process.env)),
    runtime: (changes: NodeJS.ProcessEnv) => openProcessRuntime({ ...options, env: env(changes) }),
  };
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

describe('a hostile npm package', () => {
  async function publish(
    target: Awaited<ReturnType<typeof makeTarget>>,
    manifest: object,
    files: Record<string, string> = { 'main.js': '' },
  ) {
    const folder = target.path('source');
    await mkdir(folder);
    const all = { name: 'hostile', version: '1.0.0', bin: 'main.js', ...manifest };
    await writeFile(join(folder, 'package.json'), JSON.stringify(all));
    for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
    const registry = await openNpmRegistry([folder]);
    onTestFinished(() => registry[Symbol.asyncDispose]());
    return { npm_config_registry: registry.url, npm_config_fetch_retries: '0' };
  }

  const hostile: PackageSource = { kind: 'package', scheme: 'npx', name: 'hostile', version: '1.0.0' };

  test('runs none of its scripts', async () => {
    proves('security.packages.scripts');
    const target = await makeTarget();
    const touch = `touch ${target.marker}`;
    const scripts = { preinstall: touch, install: touch, postinstall: touch, prepare: touch };
    const env = await publish(target, { scripts });

    await target.prepare(hostile, env);

    expect(await exists(target.marker)).toBe(false);
  });

  test('runs the scripts that the user allows without credentials, and without another network than the registry', async () => {
    const target = await makeTarget();
    const probe = `
      const { readFileSync, writeFileSync } = require('fs');
      const { request } = require('http');
      const proxy = new URL(process.env.HTTPS_PROXY);
      const done = (way) => writeFileSync('found.json', JSON.stringify({ way,
        npmrc: readFileSync(process.env.HOME + '/.npmrc', 'utf8'), env: process.env }));
      request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: 'example.com:443' })
        .on('connect', ({ statusCode }, socket) => { done(statusCode); socket.destroy(); })
        .on('error', (error) => done(error.code)).end();`;
    const scripts = { install: `node probe.js; touch ${target.marker}; true` };
    const env = await publish(target, { scripts }, { 'main.js': '', 'probe.js': probe });
    const { host } = new URL(env.npm_config_registry);
    await writeFile(join(target.home, '.npmrc'), `//${host}/:_authToken=TOKEN\n`);
    const source = { ...hostile, options: { allowScripts: ['hostile'] } };

    await target.prepare(source, env);

    const { folder } = await target.store(env).require(source);
    const text = await readFile(join(folder, 'node_modules/hostile/found.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ way: 403 });
    expect(text).not.toContain('TOKEN');
    expect(await exists(target.marker)).toBe(false);
  });

  test('has no scripts that the user could allow in a package that it does not contain', async () => {
    const target = await makeTarget();
    const env = await publish(target, {});

    const preparing = target.prepare({ ...hostile, options: { allowScripts: ['other'] } }, env);

    await expect(preparing).rejects.toMatchObject({
      kind: 'invalid',
      message: 'package hostile contains no package other with install scripts',
    });
  });

  test.each(['git+file', 'git+http'])(
    'cannot run code with a %s dependency that names its own git',
    async (kind) => {
      const target = await makeTarget();
      const repository = await makeRepository(target);
      const server = await openWebServer(() => new Map());
      onTestFinished(() => server[Symbol.asyncDispose]());
      const url = kind === 'git+file' ? `git+file://${repository}` : `git+${server.origin}/repository.git`;
      const env = await publish(target, { dependencies: { inner: url } });

      await expect(target.prepare(hostile, env)).rejects.toMatchObject({
        kind: 'unsupported',
        message: `package hostile does not come entirely from a package registry: inner comes from ${url}`,
        hint: expect.stringContaining(
          `allow it with thv config set-package-sources ${url.replace(/^git\+\w+:\/\//, '').replace(/\.git$/, '')}`,
        ),
      });

      expect(await exists(target.marker)).toBe(false);
      expect(server.requests).toEqual([]);
    },
  );

  test('cannot run code on the host even if the user allows its source', async () => {
    const target = await makeTarget();
    const repository = await makeRepository(target);
    const env = await publish(target, { dependencies: { inner: `git+file://${repository}` } });

    await expect(target.prepare(hostile, env, [repository])).rejects.toMatchObject({ name: 'ThvError' });

    expect(await exists(target.marker)).toBe(false);
  });

  async function makeRepository(target: Awaited<ReturnType<typeof makeTarget>>): Promise<string> {
    const folder = target.path('repository');
    await mkdir(folder);
    const scripts = { prepare: `touch ${target.marker}` };
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: 'inner', version: '1.0.0', scripts }),
    );
    await writeFile(join(folder, '.npmrc'), 'git=./script\n');
    await writeFile(join(folder, 'script'), `#!/bin/sh\ntouch ${target.marker}\n`);
    await chmod(join(folder, 'script'), 0o755);
    const git = (...args: string[]) =>
      run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: folder });
    await git('init', '-q');
    await git('add', '.');
    await git('commit', '-qm', 'hostile');
    return folder;
  }

  test.each([
    ['a tarball of this machine', (origin: string) => `${origin}/secret.tgz`],
    ['a directory of this machine', (_origin: string, home: string) => `file:${home}/.ssh`],
  ])('cannot depend on %s', async (_title, wanted) => {
    const target = await makeTarget();
    const internal = await openWebServer(() => new Map([['/secret.tgz', 'internal']]));
    onTestFinished(() => internal[Symbol.asyncDispose]());
    const env = await publish(target, { dependencies: { inner: wanted(internal.origin, target.home) } });

    await expect(target.prepare(hostile, env)).rejects.toMatchObject({ kind: 'unsupported' });

    expect(internal.requests).toEqual([]);
  });

  test.each([
    ['an absolute path', '/etc/passwd', 'etc/passwd'],
    ['a missing file', './no-such-file.js', 'no-such-file.js'],
    ['a path out of the package', '../../../../etc/passwd', '../../../../etc/passwd'],
  ])('gets a clear error when its program is %s', async (_title, bin, path) => {
    const target = await makeTarget();
    const env = await publish(target, { bin });

    await expect(target.prepare(hostile, env)).rejects.toMatchObject({
      name: 'ThvError',
      message: expect.stringContaining(path),
    });
  });

  test('cannot decide how its server is started with a file of its own', async () => {
    const target = await makeTarget();
    const install = { version: '1.0.0', command: 'node', args: ['x'], readOnlyPaths: ['/'] };
    const env = await publish(target, {}, { 'main.js': '', 'installed.json': JSON.stringify(install) });

    await target.prepare(hostile, env);
    const found = await target.store(env).require(hostile);

    expect(found.install).toMatchObject({
      version: '1.0.0',
      command: 'node',
      args: ['node_modules/hostile/main.js'],
      readOnlyPaths: [],
    });
  });
});

describe('a hostile Python package', () => {
  let uv: string;

  beforeAll(async () => {
    uv = await uvPrograms();
  });

  const hostile: PackageSource = { kind: 'package', scheme: 'uvx', name: 'hostile', version: '1.0.0' };
  const module = { 'hostile/__init__.py': 'def main():\n    pass\n' };

  async function publish(...wheels: Partial<Wheel>[]) {
    const scripts = ['hostile = hostile:main'];
    const defaults = { name: 'hostile', version: '1.0.0', files: module, scripts };
    const index = await openPythonIndex(wheels.map((wheel) => ({ ...defaults, ...wheel })));
    onTestFinished(() => index[Symbol.asyncDispose]());
    return { PATH: `${uv}:${process.env['PATH']}`, UV_DEFAULT_INDEX: `${index.origin}/simple/` };
  }

  test('does not choose mounts with a pyvenv.cfg of its own', async () => {
    const target = await makeTarget();
    const files = {
      ...module,
      'hostile-1.0.0.data/data/pyvenv.cfg': `home = ${target.home}/bin\n`,
    };
    const env = await publish({ files });
    const honest = await makeTarget();
    const honestEnv = await publish({});

    await target.prepare(hostile, env);
    await honest.prepare(hostile, honestEnv);

    const [found, expected] = await Promise.all(
      [target.store(env), honest.store(honestEnv)].map((store) => store.require(hostile)),
    );
    expect(found?.install.readOnlyPaths).toEqual(expected?.install.readOnlyPaths);
    expect(JSON.stringify(found?.install)).not.toContain(target.home);
  });

  test('is recorded with the hashes of its wheels before it is kept', async () => {
    const target = await makeTarget();
    const env = await publish({ requires: ['needed==2.0'] }, { name: 'needed', version: '2.0', scripts: [] });
    const seen: PackageContents[] = [];

    const installed = await target.runtime(env).prepare(hostile, {
      report: () => {},
      signal: never,
      inspect: async (_source, contents) => void seen.push(contents),
    });

    const contents = await target.store(env).contents(hostile);
    expect(installed).toEqual(hostile);
    // The other files of the versions are compared, but not recorded with the installation.
    expect(seen).toEqual([{ ...contents, published: contents?.artifacts }]);
    expect(contents).not.toHaveProperty('published');
    expect(contents).toMatchObject({
      registry: env.UV_DEFAULT_INDEX,
      artifacts: [
        {
          name: 'hostile',
          version: '1.0.0',
          integrity: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
          file: 'hostile-1.0.0-py3-none-any.whl',
        },
        { name: 'needed', version: '2.0', integrity: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      ],
    });
  });

  test('whose wheel has another hash than the index says is not installed', async () => {
    const target = await makeTarget();
    const wheel = wheelOf({
      name: 'hostile',
      version: '1.0.0',
      files: module,
      scripts: ['hostile = hostile:main'],
    });
    const file = 'hostile-1.0.0-py3-none-any.whl';
    await using index = await openWebServer(
      (origin) =>
        new Map<string, string | Buffer>([
          [`/files/${file}`, wheel],
          ['/simple/hostile/', `<a href="${origin}/files/${file}#sha256=${'0'.repeat(64)}">${file}</a>`],
        ]),
    );
    const env = { PATH: `${uv}:${process.env['PATH']}`, UV_DEFAULT_INDEX: `${index.origin}/simple/` };

    await expect(target.prepare(hostile, env)).rejects.toThrow(/hash mismatch/i);
  });

  test('runs no code with a .pth file', async () => {
    const target = await makeTarget();
    const files = { ...module, 'evil.pth': `import os; open('${target.marker}', 'w')\n` };
    const env = await publish({ files });

    await target.prepare(hostile, env);

    expect(await exists(target.marker)).toBe(false);
  });

  test('runs no code when its modules are compiled', async () => {
    const target = await makeTarget();
    const code = `import os\nopen('${inside.package}/ran', 'w')\n`;
    const names = ['sitecustomize', 'usercustomize', 'compileall', 'encodings/__init__', 'hostile/extra'];
    const files = {
      ...module,
      'evil.pth': `import os; open('${inside.package}/ran', 'w')\n`,
      ...Object.fromEntries(names.map((name) => [`${name}.py`, code])),
    };
    const env = await publish({ files });

    await target.prepare(hostile, env);

    const { folder } = await target.store(env).require(hostile);
    const installed = await readdir(folder, { recursive: true });
    expect(installed).toContainEqual(expect.stringMatching(/hostile\/__pycache__\/extra\.[\w-]+\.pyc$/));
    expect(await exists(join(folder, 'ran'))).toBe(false);
  });

  test('cannot plant compiled files in place of the sources of a dependency', async () => {
    const target = await makeTarget();
    const source = target.path('needed.py');
    await writeFile(source, "WORD = 'planted'\n");
    const compile = `import importlib.util, py_compile, sys
py_compile.compile(sys.argv[1], sys.argv[2], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
print(importlib.util.cache_from_source('__init__.py'), end='')`;
    const planted = target.path('needed.pyc');
    const { stdout: place } = await run('python3', ['-c', compile, source, planted]);
    const env = await publish(
      {
        files: {
          'hostile/__init__.py': 'import needed\ndef main():\n    print(needed.WORD, flush=True)\n',
          [`needed/${place}`]: await readFile(planted),
        },
        requires: ['needed==2.0'],
      },
      {
        name: 'needed',
        version: '2.0',
        files: { 'needed/__init__.py': "WORD = 'published'\n" },
        scripts: [],
      },
    );
    const runtime = target.runtime(env);
    const prepared = await runtime.prepare(hostile, { report: () => {}, signal: never });

    await using instance = await runtime.start(aLaunch(prepared, { args: [] }), never);
    let output = '';
    instance.stdio?.output.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await instance.exited;

    expect(output).toBe('published\n');
  });

  test('cannot depend on a file or a server of this machine', async () => {
    const internal = await openWebServer(() => new Map());
    onTestFinished(() => internal[Symbol.asyncDispose]());
    const target = await makeTarget();
    const env = await publish({ requires: [`inner @ ${internal.origin}/inner-1.0.0-py3-none-any.whl`] });

    await expect(target.prepare(hostile, env)).rejects.toMatchObject({
      kind: 'unsupported',
      message: expect.stringContaining('does not come entirely from a package registry'),
    });

    expect(internal.requests).toEqual([]);
  });

  test('cannot place files outside its own directory', async () => {
    const target = await makeTarget();
    const escape = '../../../../../../../../../../..';
    const files = { ...module, [`hostile-1.0.0.data/data/${escape}${target.path('escaped')}`]: 'escaped' };
    const env = await publish({ files });

    await target.prepare(hostile, env).catch(() => {});

    expect(await exists(target.path('escaped'))).toBe(false);
  });

  test('starts in a sandbox that shows nothing of the home directory', async () => {
    const target = await makeTarget();
    const look = `import json, os, sys\ndef main():\n    print(json.dumps([os.path.exists('${target.home}'), os.environ.get('GITHUB_TOKEN')]))\n    sys.stdout.flush()\n`;
    const env = await publish({ files: { 'hostile/__init__.py': look } });
    const runtime = target.runtime({ ...env, GITHUB_TOKEN: 'secret' });
    const source = await runtime.prepare(hostile, { report: () => {}, signal: never });

    await using instance = await runtime.start(aLaunch(source, { args: [] }), never);
    let output = '';
    instance.stdio?.output.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await instance.exited;

    expect(JSON.parse(output)).toEqual([false, null]);
  });
});

const go = '/usr/local/go/bin';
const hasGo = await exists(join(go, 'go'));

describe.runIf(hasGo)('a hostile Go module', () => {
  const path = 'example.com/hostile';
  const hostile: PackageSource = { kind: 'package', scheme: 'go', name: path, version: 'v1.0.0' };
  const main = 'package main\n\nfunc main() {}\n';

  async function publish(files: Record<string, string>) {
    const proxy = await openGoProxy([{ path, version: 'v1.0.0', files }]);
    onTestFinished(() => proxy[Symbol.asyncDispose]());
    return { PATH: `${go}:${process.env['PATH']}`, GOPROXY: `${proxy.origin},direct`, GOSUMDB: 'off' };
  }

  test('is recorded with the hash that go compares, and refused if an inspection says so', async () => {
    const target = await makeTarget();
    const env = await publish({ 'go.mod': `module ${path}\n\ngo 1.21\n`, 'main.go': main });
    const install = (inspect: PrepareOptions['inspect']) =>
      target.runtime(env).prepare(hostile, { report: () => {}, signal: never, inspect });
    const refuse = async () => Promise.reject(new Error('refused'));

    await expect(install(refuse)).rejects.toThrow('refused');
    const before = await target.store(env).contents(hostile);
    await install(async () => {});

    expect(before).toBeUndefined();
    expect(await target.store(env).contents(hostile)).toEqual({
      registry: '',
      publishedAt: '2026-01-01T00:00:00.000Z',
      artifacts: [{ name: path, version: 'v1.0.0', integrity: expect.stringMatching(/^h1:/) }],
    });
  });

  test('runs no code with compiler directives', async () => {
    const target = await makeTarget();
    const env = await publish({
      'go.mod': `module ${path}\n\ngo 1.21\n`,
      'main.go': `package main\n\n// #cgo LDFLAGS: -Wl,--plugin=x\n// #include <stdlib.h>\n// static void run() { system("touch ${target.marker}"); }\nimport "C"\n\n//go:generate touch ${target.marker}\nfunc main() {}\n`,
    });

    await expect(target.prepare(hostile, env)).rejects.toMatchObject({ name: 'ThvError' });

    expect(await exists(target.marker)).toBe(false);
  });

  test('cannot replace a module by a directory of this machine', async () => {
    const target = await makeTarget();
    const env = await publish({
      'go.mod': `module ${path}\n\ngo 1.21\n\nrequire example.com/inner v1.0.0\n\nreplace example.com/inner => ${target.home}\n`,
      'main.go': main,
    });

    await expect(target.prepare(hostile, env)).rejects.toMatchObject({ name: 'ThvError' });
  });

  test('does not make Go start a version control program', async () => {
    const internal = await openWebServer(() => new Map());
    onTestFinished(() => internal[Symbol.asyncDispose]());
    const target = await makeTarget();
    const inner = internal.origin.replace('http://', '');
    const env = await publish({
      'go.mod': `module ${path}\n\ngo 1.21\n\nrequire ${inner}/inner.git v1.0.0\n`,
      'main.go': `package main\n\nimport _ "${inner}/inner.git"\n\nfunc main() {}\n`,
    });

    await expect(target.prepare(hostile, { ...env, GOINSECURE: '*' })).rejects.toMatchObject({
      name: 'ThvError',
    });

    expect(internal.requests).toEqual([]);
  });
});

test('a package directory that holds links shows the daemon no file of the machine', async () => {
  const target = await makeTarget();
  const { readPackageFile } = await import('../process/installers/package-files.ts');
  const folder = target.path('package');
  await mkdir(folder);
  await symlink(join(target.home, '.ssh', 'id_ed25519'), join(folder, 'link'));
  await run('mkfifo', [join(folder, 'pipe')]);

  const read = await Promise.all(
    ['link', 'pipe', '../home/.ssh/id_ed25519'].map((path) => readPackageFile(folder, path)),
  );

  expect(read).toEqual([undefined, undefined, undefined]);
  expect(await readFile(join(target.home, '.ssh', 'id_ed25519'), 'utf8')).toBe('PRIVATE KEY');
  expect(await readdir(folder)).toHaveLength(2);
});
