// @suite engines
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forbidden } from '@toolhive/contract/failure';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectEngine } from '../docker/engine.ts';
import { inspectImage } from '../docker/images.ts';
import { openDockerRuntime } from '../docker/docker.ts';
import { packageImage, tagImage } from '../docker/packages.ts';
import { never } from '../process/test-rig.ts';
import type { PackageContents, PrepareOptions, Runtime } from '../runtime.ts';
import type { PackageScheme, PackageSource } from '../source.ts';
import { buildBaseImage } from '../testing/base-images.ts';
import { uvPrograms } from '../testing/uv.ts';
import { aLaunch } from '../testing/conformance.ts';
import { TEST_IMAGE } from '../testing/docker-engine.ts';
import { engineSocket } from '../testing/engines.ts';
import { openGoProxy } from '../testing/go-proxy.ts';
import { openNpmRegistry } from '../testing/npm-registry.ts';
import { downloadFiles, npmFiles } from '../testing/offline-registries.ts';
import { openPythonIndex, type Wheel } from '../testing/python-index.ts';
import { proves } from '@toolhive/testing/promises';

// Packages that become images are checked like packages in the sandbox: before any of their code runs, and before the
// image has a name. Nothing that their code writes to the image may count.

const folder = await mkdtempDisposable(join(tmpdir(), 'thv-checked-images-'));
const goRoot = '/usr/local/go';
const hasGo = await access(join(goRoot, 'bin/go')).then(
  () => true,
  () => false,
);

const source = (scheme: PackageScheme, name: string, version?: string): PackageSource => ({
  kind: 'package',
  scheme,
  name,
  ...(version === undefined ? {} : { version }),
});

/** An inspection that remembers what it was given. */
function watching(): { seen: PackageContents[]; options: PrepareOptions } {
  const seen: PackageContents[] = [];
  const inspect: PrepareOptions['inspect'] = async (_source, contents) => void seen.push(contents);
  return { seen, options: { report: () => {}, signal: never, inspect } };
}

const refusing: PrepareOptions = {
  report: () => {},
  signal: never,
  inspect: async () => {
    throw forbidden('the provenance is wrong');
  },
};

describe.each(['docker', 'podman'] as const)('%s', async (engineName) => {
  const socket = await engineSocket(engineName);
  // Podman takes minutes for all of them, and differs only in its builder.
  describe.runIf(socket !== '')('builds an image', () => {
    checkedCases(socket, engineName === 'docker');
  });
});

function checkedCases(socket: string, isComplete: boolean): void {
  const images = {
    npx: `toolhive-checked-npm:${process.pid}`,
    uvx: `toolhive-checked-python:${process.pid}`,
    go: `toolhive-checked-go:${process.pid}`,
  };
  const baseImages = Object.fromEntries(
    Object.entries(images).map(([scheme, image]) => [scheme, { build: image, run: image }]),
  );

  /** A daemon with records of its own. */
  async function aRuntime(): Promise<Runtime> {
    const recordsDir = join(folder.path, crypto.randomUUID());
    await mkdir(recordsDir);
    const daemonId = `checked-${process.pid}`;
    return openDockerRuntime({ tempDir: folder.path, recordsDir, daemonId, env: {}, socket, baseImages });
  }

  async function imageOf(of: PackageSource): Promise<string | undefined> {
    return (await inspectImage(await connectEngine(socket), packageImage(of, baseImages), never))?.Id;
  }

  /** The title of cases for one engine only, which are not defined for the other. */
  const complete = (title: string): string[] => (isComplete ? [title] : []);

  describe('of an npm package', () => {
    const integrity: Record<string, string> = {};
    let files: Map<string, string | Buffer>;

    beforeAll(async () => {
      // Its script runs during the build, and rewrites everything in which a record of the download could be.
      const rewrite = `
        const { readFileSync, writeFileSync } = require('fs');
        const forged = 'sha512-' + Buffer.alloc(64).toString('base64');
        for (const path of ['/download/facts.json', '/app/node_modules/.package-lock.json', '/app/package-lock.json']) {
          try { writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/sha512-[^"]+/g, forged)); } catch {}
        }
        writeFileSync('/app/version', '9.9.9');`;
      const manifests = {
        'rewriting-1.0.0': { scripts: { install: 'node rewrite.js' }, dependencies: { needed: '1.0.0' } },
        'rewriting-1.1.0': {},
        'needed-1.0.0': {},
      };
      const folders = Object.entries(manifests).map(async ([id, manifest]) => {
        const [name, version] = id.split('-');
        const path = join(folder.path, crypto.randomUUID());
        await mkdir(path);
        const all = { name, version, bin: 'main.js', ...manifest };
        await writeFile(join(path, 'package.json'), JSON.stringify(all));
        await writeFile(join(path, 'main.js'), `#!/bin/node\nprocess.stdout.write('ran');`);
        await writeFile(join(path, 'rewrite.js'), rewrite);
        return path;
      });
      await using published = await openNpmRegistry(await Promise.all(folders));
      published.times.set('rewriting@1.0.0', '2026-01-02T03:04:05.000Z');
      for (const id of ['rewriting@1.0.0', 'rewriting@1.1.0', 'needed@1.0.0'])
        integrity[id] = published.integrityOf(id.split('@')[0]!, id.split('@')[1]!);
      files = await npmFiles(published, { rewriting: ['1.0.0', '1.1.0'], needed: ['1.0.0'] });
      await buildBaseImage(socket, { image: images.npx, ecosystem: 'npx', registry: files });
    });

    const rewriting = source('npx', 'rewriting', '1.0.0');

    test('only if the content of the download is accepted', async () => {
      proves('security.packages.images');
      const runtime = await aRuntime();

      const refused = runtime.prepare(rewriting, refusing);

      await expect(refused).rejects.toMatchObject({ message: 'the provenance is wrong' });
      expect(await imageOf(rewriting)).toBeUndefined();
      expect(await runtime.contents?.(rewriting)).toBeUndefined();
    });

    test('whose record is what npm downloaded, not what a script of the package wrote', async () => {
      proves('security.packages.images');
      const { seen, options } = watching();
      const runtime = await aRuntime();

      const pinned = await runtime.prepare(rewriting, options);
      await runtime.prepare(rewriting, options);

      const contents = {
        registry: expect.stringContaining('http://127.0.0.1'),
        publishedAt: '2026-01-02T03:04:05.000Z',
        artifacts: [
          { name: 'rewriting', version: '1.0.0', integrity: integrity['rewriting@1.0.0'] },
          { name: 'needed', version: '1.0.0', integrity: integrity['needed@1.0.0'] },
        ],
      };
      expect(pinned).toEqual(rewriting);
      expect(seen).toEqual([contents]);
      expect(await runtime.contents?.(rewriting)).toEqual(contents);
    });

    test.each(complete('that is not trusted if another image has its name'))('%s', async () => {
      const { seen, options } = watching();
      const runtime = await aRuntime();
      await runtime.prepare(rewriting, options);
      const engine = await connectEngine(socket);
      await tagImage(engine, TEST_IMAGE, packageImage(rewriting, baseImages), never);
      const swapped = await imageOf(rewriting);
      const foreign = await runtime.contents?.(rewriting);
      await runtime.prepare(rewriting, options);

      expect(foreign).toBeUndefined();
      expect(seen).toHaveLength(2);
      expect(await imageOf(rewriting)).not.toBe(swapped);
    });

    test.each(complete('with the exact version that was inspected, if the source has none'))(
      '%s',
      async () => {
        const { options } = watching();
        const runtime = await aRuntime();

        const pinned = await runtime.prepare(source('npx', 'rewriting'), options);

        expect(pinned).toEqual(source('npx', 'rewriting', '1.1.0'));
        expect((await runtime.contents?.(source('npx', 'rewriting', '1.1.0')))?.artifacts).toHaveLength(1);
      },
    );

    test.each(complete('and finds newer versions and their content before anything of them runs'))(
      '%s',
      async () => {
        const runtime = await aRuntime();
        const { options } = watching();

        const newest = await runtime.newest?.(rewriting, options);
        const preview = await runtime.preview?.(source('npx', 'rewriting', '1.1.0'), options);

        expect(newest).toEqual({ version: '1.1.0', publishedAt: expect.any(String) });
        expect(preview?.artifacts).toEqual([
          { name: 'rewriting', version: '1.1.0', integrity: integrity['rewriting@1.1.0'] },
        ]);
      },
    );

    test.each(
      complete('once more if an earlier version built it, and starts it without a network with a warning'),
    )('%s', async () => {
      const reports: string[] = [];
      const options = { report: (message: string) => void reports.push(message), signal: never };
      await (await aRuntime()).prepare(rewriting, options);
      await buildBaseImage(socket, { image: images.npx, ecosystem: 'npx', registry: new Map() });
      const later = await aRuntime();

      const offline = await later.prepare(rewriting, { ...refusing, ...options });
      await using instance = await later.start(
        aLaunch(rewriting, { workload: 'unchecked', args: [] }),
        never,
      );
      await instance.exited;

      expect(offline).toEqual(rewriting);
      expect(reports).toContainEqual(expect.stringMatching(/^using the copy of npx:\/\/rewriting@1\.0\.0/));
      expect(instance.limits?.map(({ text }) => text)).toContainEqual(
        expect.stringContaining('its image was built without checks of the package'),
      );

      await buildBaseImage(socket, { image: images.npx, ecosystem: 'npx', registry: files });
      await expect(later.prepare(rewriting, refusing)).rejects.toMatchObject({ kind: 'forbidden' });
    });
  });

  describe.each(complete('of a Python package'))('%s', () => {
    const hashes: Record<string, string> = {};

    beforeAll(async () => {
      const main = 'def main():\n    print("ran")\n';
      const wheels: Wheel[] = [
        {
          name: 'checked-python',
          version: '1.0.0',
          requires: ['needed-python'],
          scripts: ['checked-python = checked:main'],
          files: { 'checked.py': main },
        },
        { name: 'needed-python', version: '2.0.0', files: { 'needed.py': '' } },
        { name: 'outer-python', version: '3.0.0', requires: ['inner-python'], files: {} },
        {
          name: 'inner-python',
          version: '4.0.0',
          scripts: ['outer-python = inner:main'],
          files: { 'inner.py': main },
        },
      ];
      await using index = await openPythonIndex(wheels);
      const paths = wheels.map(
        ({ name, version }) => `/files/${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`,
      );
      const registry = await downloadFiles(index.origin, paths);
      for (const [path, content] of registry)
        hashes[path] = `sha256:${createHash('sha256').update(content).digest('hex')}`;
      await buildBaseImage(socket, {
        image: images.uvx,
        ecosystem: 'uvx',
        registry,
        tools: await uvPrograms(),
      });
    });

    test('only if the wheels are accepted that a lock with hashes names', async () => {
      const runtime = await aRuntime();
      const { seen, options } = watching();
      const python = source('uvx', 'checked-python', '1.0.0');

      const refused = runtime.prepare(python, refusing);
      await expect(refused).rejects.toMatchObject({ message: 'the provenance is wrong' });
      const before = await imageOf(python);
      await runtime.prepare(python, options);
      const newest = await runtime.newest?.(python, options);

      const wheel = (name: string, version: string) => {
        const file = `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`;
        return { name, version, integrity: hashes[`/files/${file}`], file };
      };
      expect(before).toBeUndefined();
      expect(seen.map(({ artifacts }) => artifacts)).toEqual([
        [wheel('checked-python', '1.0.0'), wheel('needed-python', '2.0.0')],
      ]);
      expect(newest).toEqual({ version: '1.0.0' });
    });

    test('also if a dependency has its program', async () => {
      const runtime = await aRuntime();
      const { seen, options } = watching();

      const prepared = await runtime.prepare(source('uvx', 'outer-python', '3.0.0'), options);

      expect(prepared).toMatchObject({ version: '3.0.0' });
      expect(seen.map(({ artifacts }) => artifacts.map(({ name }) => name))).toEqual([
        ['outer-python', 'inner-python'],
      ]);
    });
  });

  describe.runIf(hasGo).each(complete('of a Go module'))('%s', () => {
    beforeAll(async () => {
      const module = {
        path: 'example.com/checked',
        version: 'v1.0.0',
        files: {
          'go.mod': 'module example.com/checked\n\ngo 1.21\n',
          'main.go': 'package main\n\nfunc main() { print("ran") }\n',
        },
      };
      await using proxy = await openGoProxy([module]);
      const paths = ['list', 'v1.0.0.info', 'v1.0.0.mod', 'v1.0.0.zip'].map(
        (file) => `/${module.path}/@v/${file}`,
      );
      const registry = await downloadFiles(proxy.origin, paths);
      await buildBaseImage(socket, { image: images.go, ecosystem: 'go', registry, tools: goRoot });
    });

    test('only if the modules in the program are accepted', async () => {
      const runtime = await aRuntime();
      const { seen, options } = watching();
      const module = source('go', 'example.com/checked', 'v1.0.0');

      const refused = runtime.prepare(module, refusing);
      await expect(refused).rejects.toMatchObject({ message: 'the provenance is wrong' });
      const before = await imageOf(module);
      await runtime.prepare(module, options);

      expect(before).toBeUndefined();
      expect(seen).toEqual([
        {
          registry: '',
          publishedAt: expect.any(String),
          artifacts: [
            { name: 'example.com/checked', version: 'v1.0.0', integrity: expect.stringMatching(/^h1:/) },
          ],
        },
      ]);
      await expect(runtime.newest?.(module, options)).rejects.toMatchObject({ kind: 'unsupported' });
    });
  });
}
