// @suite engines
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtempDisposable, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDockerRuntime } from '../docker/docker.ts';
import { never } from '../process/test-rig.ts';
import type { PackageScheme, PackageSource } from '../source.ts';
import { buildBaseImage } from '../testing/base-images.ts';
import { uvPrograms } from '../testing/uv.ts';
import { aLaunch } from '../testing/conformance.ts';
import { engineSocket } from '../testing/engines.ts';
import { openGoProxy } from '../testing/go-proxy.ts';
import { openNpmRegistry } from '../testing/npm-registry.ts';
import { downloadFiles, npmFiles } from '../testing/offline-registries.ts';
import { openPythonIndex } from '../testing/python-index.ts';
import { proves } from '@toolhive/testing/promises';

// Hostile packages of each ecosystem, built to images by the real Dockerfiles with the real npm, uv, and Go. Code of a
// package may run during a build, so each package records what it finds there.

const run = promisify(execFile);
const socket = await engineSocket('docker');

/** Where a package looks for files of this machine, and would leave a trace of code that runs outside a container. */
const host = await mkdtempDisposable(join(tmpdir(), 'thv-image-attack-'));
const secret = join(host.path, 'secret');
const marker = join(host.path, 'ran-on-the-host');
await writeFile(secret, 'PRIVATE KEY');

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** What a build in a container may find: its own unprivileged user, nothing of this machine, no network. */
const contained = {
  uid: 65534,
  secret: false,
  token: false,
  writable: [],
  interfaces: ['lo'],
};

/** The same facts, as JavaScript and as Python find them. */
const places = ['/evil', '/bin/evil', '/etc/evil', '/registry/evil', '/lib/evil'];
const factsInNode = `
  const fs = require('fs');
  const canWrite = (path) => { try { fs.writeFileSync(path, ''); return true; } catch { return false; } };
  try { fs.writeFileSync(${JSON.stringify(marker)}, ''); } catch {}
  const facts = {
    uid: process.getuid(),
    secret: fs.existsSync(${JSON.stringify(secret)}),
    token: JSON.stringify(process.env).includes('TOKEN-OF-THE-USER'),
    writable: ${JSON.stringify(places)}.filter(canWrite),
    interfaces: Object.keys(require('os').networkInterfaces()),
  };`;
const factsInPython = `
import json, os, socket
def can_write(path):
    try:
        open(path, 'w').close()
        return True
    except OSError:
        return False
can_write(${JSON.stringify(marker)})
facts = {
    'uid': os.getuid(),
    'secret': os.path.exists(${JSON.stringify(secret)}),
    'token': 'TOKEN-OF-THE-USER' in json.dumps(dict(os.environ)),
    'writable': [path for path in ${JSON.stringify(places)} if can_write(path)],
    'interfaces': [name for _, name in socket.if_nameindex()],
}
`;

function runtimeFor(scheme: PackageScheme, image: string) {
  return openDockerRuntime({
    tempDir: tmpdir(),
    recordsDir: host.path,
    daemonId: `images-${process.pid}`,
    env: { GITHUB_TOKEN: 'TOKEN-OF-THE-USER' },
    socket,
    baseImages: { [scheme]: { build: image, run: image } },
  });
}

type Runtime = ReturnType<typeof runtimeFor>;
const build = (runtime: Runtime, source: PackageSource) =>
  runtime.prepare(source, { report: () => {}, signal: never });

/** What the server of a package prints. */
async function outputOf(runtime: Runtime, source: PackageSource): Promise<unknown> {
  await build(runtime, source);
  await using instance = await runtime.start(
    aLaunch(source, { workload: source.name.split('/').pop()!, args: [] }),
    never,
  ); // a name has a last part
  let output = '';
  instance.stdio?.output.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await instance.exited;
  return JSON.parse(output);
}

describe.runIf(socket !== '')('a hostile npm package in a container engine', () => {
  const image = `toolhive-attack-npm:${process.pid}`;
  const runtime = runtimeFor('npx', image);
  const source = (name: string): PackageSource => ({
    kind: 'package',
    scheme: 'npx',
    name,
    version: '1.0.0',
  });

  const probe = `${factsInNode}
    fs.writeFileSync('/app/facts.json', JSON.stringify(facts));
    fs.writeFileSync('/tmp/left-behind', '');
    fs.symlinkSync(${JSON.stringify(secret)}, '/app/link');`;
  const server = `#!/bin/node
    ${factsInNode}
    const left = ['/app/link', '/tmp/left-behind', '/tmp/.npm'].filter((path) => fs.existsSync(path));
    const build = JSON.parse(fs.readFileSync('/app/facts.json', 'utf8'));
    process.stdout.write(JSON.stringify({ build, run: facts, left }));`;
  const packages = {
    scripts: { scripts: { preinstall: 'node probe.js', install: 'true', postinstall: 'true' } },
    git: { dependencies: { inner: `git+file://${host.path}` } },
    remote: { dependencies: { inner: 'http://127.0.0.1:1/inner.tgz' } },
    file: { dependencies: { inner: `file:${host.path}` } },
    directory: { dependencies: { inner: 'file:../../registry' } },
  };

  beforeAll(async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-npm-'));
    const folders = Object.entries(packages).map(async ([name, manifest]) => {
      const path = join(folder.path, name);
      await mkdir(path);
      const all = { name: `hostile-${name}`, version: '1.0.0', bin: 'main.js', ...manifest };
      await writeFile(join(path, 'package.json'), JSON.stringify(all));
      await writeFile(join(path, 'main.js'), server);
      await writeFile(join(path, 'probe.js'), probe);
      await writeFile(join(path, '.npmrc'), 'git=./script\nscript-shell=./script\n');
      await writeFile(join(path, 'script'), `#!/bin/sh\ncat /registry > ${marker}\n`, { mode: 0o755 });
      return path;
    });
    await using published = await openNpmRegistry(await Promise.all(folders));
    const names = Object.keys(packages).map((name) => [`hostile-${name}`, ['1.0.0']] as const);
    const registry = await npmFiles(published, Object.fromEntries(names));
    await buildBaseImage(socket, { image, ecosystem: 'npx', registry });
  });

  test('runs its scripts as an unprivileged user of a container without network, and leaves only its own files', async () => {
    proves('security.images.build');
    const found = await outputOf(runtime, source('hostile-scripts'));

    expect(found).toMatchObject({ build: contained, run: { ...contained, uid: 65534 }, left: [] });
    expect(await exists(marker)).toBe(false);
  });

  test.each(['git', 'remote', 'file', 'directory'])('is not built with a %s dependency', async (kind) => {
    const building = build(runtime, source(`hostile-${kind}`));

    await expect(building).rejects.toMatchObject({
      name: 'ThvError',
      cause: { message: expect.stringMatching(/EALLOW|not from a package registry/) },
    });
    expect(await exists(marker)).toBe(false);
  });
});

describe.runIf(socket !== '')('a hostile Python package in a container engine', () => {
  const image = `toolhive-attack-python:${process.pid}`;
  const runtime = runtimeFor('uvx', image);
  const source = (name: string): PackageSource => ({
    kind: 'package',
    scheme: 'uvx',
    name,
    version: '1.0.0',
  });

  const main = `${factsInPython}
def main():
    path = '/app/bin/facts.json'
    build = json.load(open(path)) if os.path.exists(path) else None
    print(json.dumps({'build': build, 'run': facts, 'left': [path for path in ['/app/bin/link', '/tmp/left-behind', '/bin/evil', '/opt/evil'] if os.path.exists(path)]}), flush=True)
`;

  beforeAll(async () => {
    const wheel = {
      name: 'hostile-wheel',
      version: '1.0.0',
      scripts: ['hostile-wheel = hostile:main'],
      files: {
        'hostile/__init__.py': main,
        'hostile-wheel.pth': `import os; open('${marker}', 'w')\n`,
        'hostile_wheel-1.0.0.data/data/pyvenv.cfg': `home = ${host.path}\n`,
      },
    };
    const escaping = {
      ...wheel,
      name: 'hostile-escape',
      scripts: ['hostile-escape = hostile:main'],
      files: { 'hostile/__init__.py': main, 'hostile_escape-1.0.0.data/data/../../../../../bin/evil': '' },
    };
    const remote = { ...wheel, name: 'hostile-remote', requires: [`inner @ file://${secret}`] };
    const wheels = [wheel, escaping, remote];
    await using index = await openPythonIndex(wheels);
    const paths = wheels.map(({ name }) => `/files/${name.replaceAll('-', '_')}-1.0.0-py3-none-any.whl`);
    const registry = new Map<string, string | Buffer>(await downloadFiles(index.origin, paths));
    registry.set('/files/hostile_sdist-1.0.0.tar.gz', await sourceDistribution());
    await buildBaseImage(socket, { image, ecosystem: 'uvx', registry, tools: await uvPrograms() });
  });

  /** A source distribution whose build backend records what it finds and makes a wheel. */
  async function sourceDistribution(): Promise<Buffer> {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-sdist-'));
    const root = join(folder.path, 'hostile_sdist-1.0.0');
    await mkdir(root);
    const metadata = 'Metadata-Version: 2.1\\nName: hostile-sdist\\nVersion: 1.0.0\\n';
    const backend = `${factsInPython}
import zipfile
os.makedirs('/app/bin', exist_ok=True)
json.dump(facts, open('/app/bin/facts.json', 'w'))
open('/tmp/left-behind', 'w').close()
if not os.path.lexists('/app/bin/link'):
    os.symlink(${JSON.stringify(secret)}, '/app/bin/link')
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = 'hostile_sdist-1.0.0-py3-none-any.whl'
    info = 'hostile_sdist-1.0.0.dist-info/'
    with zipfile.ZipFile(os.path.join(directory, name), 'w') as wheel:
        wheel.writestr('hostile.py', ${JSON.stringify(main)})
        wheel.writestr(info + 'METADATA', '${metadata}')
        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr(info + 'entry_points.txt', '[console_scripts]\\nhostile-sdist = hostile:main\\n')
        wheel.writestr(info + 'RECORD', '')
    return name
`;
    await writeFile(join(root, 'backend.py'), backend);
    await writeFile(join(root, 'PKG-INFO'), 'Metadata-Version: 2.1\nName: hostile-sdist\nVersion: 1.0.0\n');
    await writeFile(
      join(root, 'pyproject.toml'),
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "hostile-sdist"\nversion = "1.0.0"\n',
    );
    const options = { encoding: 'buffer', cwd: folder.path } as const;
    return (await run('tar', ['-cz', 'hostile_sdist-1.0.0'], options)).stdout;
  }

  test('runs its build backend as an unprivileged user of a container, and leaves only its own files', async () => {
    const found = await outputOf(runtime, source('hostile-sdist'));

    expect(found).toMatchObject({ build: contained, run: contained, left: [] });
    expect(await exists(marker)).toBe(false);
  });

  test.each([
    ['a .pth file and a pyvenv.cfg of its own', 'hostile-wheel'],
    ['a path that leads out of it', 'hostile-escape'],
  ])('with %s reaches nothing outside its container', async (_title, name) => {
    const found = await outputOf(runtime, source(name));

    expect(found).toEqual({ build: null, run: contained, left: [] });
    expect(await exists(marker)).toBe(false);
  });

  test('is not built with a dependency on a file of this machine', async () => {
    await expect(build(runtime, source('hostile-remote'))).rejects.toMatchObject({ name: 'ThvError' });
  });
});

const goRoot = '/usr/local/go';
const hasGo = await exists(join(goRoot, 'bin/go'));

describe.runIf(socket !== '' && hasGo)('a hostile Go module in a container engine', () => {
  const image = `toolhive-attack-go:${process.pid}`;
  const runtime = runtimeFor('go', image);
  const source = (name: string): PackageSource => ({
    kind: 'package',
    scheme: 'go',
    name,
    version: 'v1.0.0',
  });
  const modulePath = (name: string) => `example.com/${name}`;
  const goMod = (name: string, more = '') => `module ${modulePath(name)}\n\ngo 1.21\n${more}`;
  const main = 'package main\n\nfunc main() { print("ran") }\n';
  const modules: Record<string, Record<string, string>> = {
    cgo: {
      'go.mod': goMod('cgo'),
      'main.go': `package main\n\n// #cgo LDFLAGS: -Wl,--plugin=x\n// static void run() {}\nimport "C"\n\n//go:generate touch ${marker}\nfunc main() {}\n`,
    },
    replace: {
      'go.mod': goMod(
        'replace',
        `\nrequire example.com/inner v1.0.0\n\nreplace example.com/inner => ${host.path}\n`,
      ),
      'main.go': main,
    },
    toolchain: {
      'go.mod': goMod('toolchain').replace('go 1.21', 'go 1.99\n\ntoolchain go1.99.0'),
      'main.go': main,
    },
  };

  beforeAll(async () => {
    const published = Object.entries(modules).map(([name, files]) => ({
      path: modulePath(name),
      version: 'v1.0.0',
      files,
    }));
    await using proxy = await openGoProxy(published);
    const paths = published.flatMap(({ path }) =>
      ['list', 'v1.0.0.info', 'v1.0.0.mod', 'v1.0.0.zip'].map((file) => `/${path}/@v/${file}`),
    );
    const registry = await downloadFiles(proxy.origin, paths);
    await buildBaseImage(socket, { image, ecosystem: 'go', registry, tools: goRoot });
  });

  test.each([
    ['compiler directives', 'cgo', /build constraints exclude all Go files|cgo/],
    ['a module that is replaced by a directory', 'replace', /must not contain directives/],
    ['a toolchain of its own', 'toolchain', /toolchain/],
  ])('is not built with %s', async (_title, name, why) => {
    const building = build(runtime, source(modulePath(name)));

    await expect(building).rejects.toMatchObject({
      name: 'ThvError',
      cause: { message: expect.stringMatching(why) },
    });
    expect(await exists(marker)).toBe(false);
  });

  test('of a folder gets no file that a link in the folder leads to', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-go-'));
    await writeFile(join(folder.path, 'go.mod'), goMod('linked'));
    await writeFile(
      join(folder.path, 'main.go'),
      'package main\n\nimport _ "embed"\n\n//go:embed secret\nvar secret string\n\nfunc main() { print(secret) }\n',
    );
    await symlink(secret, join(folder.path, 'secret'));
    const local: PackageSource = { kind: 'package', scheme: 'go', name: folder.path };

    await expect(build(runtime, local)).rejects.toMatchObject({
      message: expect.stringContaining('is a symbolic link that leads out of'),
    });
  });
});
