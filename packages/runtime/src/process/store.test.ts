// @suite system (in depth)
import { access, cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer, request as ask } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../testing/conformance.ts';
import { type NpmRegistry, openNpmRegistry } from '../testing/npm-registry.ts';
import type { InstallableSource, PackageSource } from '../source.ts';
import { PackageStore, compareVersions } from './store.ts';
import { machineOf, never } from './test-rig.ts';

const example: PackageSource = { kind: 'package', scheme: 'npx', name: '@example/server' };

describe('the package store', () => {
  let folder: string;
  let registry: NpmRegistry;
  const machine = machineOf(process.env);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thv-store-'));
    const versions = ['1.2.0', '1.10.0', '2.0.0'].map((version) => publishable(version));
    registry = await openNpmRegistry(await Promise.all(versions));
  });
  afterAll(async () => {
    await registry[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function publishable(version: string): Promise<string> {
    const path = join(folder, 'sources', version);
    await mkdir(path, { recursive: true });
    const scripts = { install: `touch ${join(folder, 'ran')}` };
    const manifest = { name: example.name, version, bin: 'main.js', scripts };
    await writeFile(join(path, 'package.json'), JSON.stringify(manifest));
    await writeFile(join(path, 'main.js'), '#!/usr/bin/env node\n');
    return path;
  }

  let stores = 0;

  function aStore({
    cacheDir = join(folder, `cache-${++stores}`),
    daemonId = 'daemon',
    url = registry.url,
  } = {}) {
    const env = { ...process.env, npm_config_registry: url, npm_config_fetch_retries: '0' };
    const bundlesDir = join(folder, 'bundles');
    const options = { daemonId, cacheDir, bundlesDir, tempDir: join(folder, 'tmp'), env };
    return { cacheDir, store: new PackageStore(options, () => machine) };
  }

  test('installs the latest version and pins it', async () => {
    const { store } = aStore();

    const prepared = prepare(store, example);

    expect(await prepared).toEqual({ ...example, version: '2.0.0' });
    expect(prepared.messages).toEqual([
      'resolving @example/server',
      'installing @example/server 2.0.0',
      'downloaded 1 package',
      'install scripts did not run. If the server needs them, add --allow-scripts @example/server',
      expect.stringMatching(/^installed @example\/server 2\.0\.0 in \d+\.\d s$/),
    ]);
  });

  test('runs no script of the package', async () => {
    const { store } = aStore();

    await prepare(store, example);

    await expect(access(join(folder, 'ran'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('takes the newest version that a range allows', async () => {
    const { store } = aStore();

    expect(await prepare(store, { ...example, version: '^1' })).toMatchObject({ version: '1.10.0' });
  });

  test.each([
    ['without a version', undefined, '2.0.0'],
    ['of a tag', 'latest', '2.0.0'],
    ['of a range', '^1', '1.10.0'],
    ['of an exact version', '1.2.0', '1.2.0'],
  ])('records when a release was published: a package %s', async (_title, version, release) => {
    const { store } = aStore();
    const at = '2026-03-01T10:00:00.000Z';
    registry.times.set(`${example.name}@${release}`, at);

    const prepared = await prepare(store, { ...example, version });

    expect((await store.contents(prepared))?.publishedAt).toBe(at);
  });

  test('asks once about the latest version, and once for its installation', async () => {
    const { store } = aStore();
    const before = registry.requests.length;

    await prepare(store, example);

    const asked = registry.requests.slice(before).filter((request) => !request.endsWith('.tgz'));
    expect(asked).toEqual(['GET /@example%2fserver', 'GET /@example%2fserver']);
  });

  test('begins to install the first version of a package while its number is looked up', async () => {
    const downloading = Promise.withResolvers<void>();
    const { store } = aStore({
      url: await behind(async (request, _body) => {
        if (request.url?.endsWith('.tgz') === true) downloading.resolve();
        else if (!isInstallation(request)) await downloading.promise;
      }),
    });

    expect(await prepare(store, example)).toEqual({ ...example, version: '2.0.0' });
  });

  test('installs the version that was found, if another one was published in between', async () => {
    let isEarly = true;
    const { store } = aStore({
      url: await behind(async (request, body) => {
        if (!isInstallation(request) || !isEarly || body === undefined) return undefined;
        isEarly = false;
        return body.replace('"latest":"2.0.0"', '"latest":"1.10.0"');
      }),
    });

    const prepared = await prepare(store, example);

    expect(isEarly).toBe(false);
    expect(prepared.version).toBe('2.0.0');
    expect((await store.contents(prepared))?.artifacts).toMatchObject([{ version: '2.0.0' }]);
    const manifest = join(
      (await store.require(prepared)).folder,
      'node_modules',
      example.name,
      'package.json',
    );
    expect(JSON.parse(await readFile(manifest, 'utf8'))).toMatchObject({ version: '2.0.0' });
  });

  test('refuses an unknown package without waiting for the installation that has begun', async () => {
    const { store, cacheDir } = aStore({
      url: await behind(async (request) => {
        if (isInstallation(request)) await new Promise(() => {});
      }),
    });

    await expect(prepare(store, { ...example, name: '@example/unknown' })).rejects.toMatchObject({
      kind: 'not-found',
    });
    expect(await readdir(join(cacheDir, '.staging', 'daemon'))).toEqual([]);
  });

  const isInstallation = ({ headers }: IncomingMessage): boolean => headers['npm-command'] === 'install';

  /** The registry, behind a server that can delay and change its answers. Tarballs have no body here. */
  async function behind(
    change: (request: IncomingMessage, body: string | undefined) => Promise<string | void>,
  ): Promise<string> {
    const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { url = '/', headers } = request;
      const asked = ask(new URL(url, registry.url), { headers: { host: headers.host } }).end();
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      const content = await buffer(answer);
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.end((await change(request, url.endsWith('.tgz') ? undefined : content.toString())) ?? content);
    };
    const server = createServer((request, response) => {
      pass(request, response).catch(() => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // it listens on TCP
  }

  test('asks nobody about an exact version that is there', async () => {
    const { store } = aStore();
    const pinned = await prepare(store, { ...example, version: '1.2.0' });
    const asked = registry.requests.length;

    const again = prepare(store, pinned);

    expect(await again).toEqual(pinned);
    expect(again.messages).toEqual([]);
    expect(registry.requests.length).toBe(asked);
  });

  test('installs once for several who ask at the same time', async () => {
    const { store, cacheDir } = aStore();

    const all = await Promise.all([1, 2, 3].map(() => prepare(store, example)));

    expect(all.map(({ version }) => version)).toEqual(['2.0.0', '2.0.0', '2.0.0']);
    expect(await readdir(join(cacheDir, '.staging', 'daemon'))).toEqual([]);
  });

  test('does not clash with another daemon that installs the same', async () => {
    const { store, cacheDir } = aStore();
    const other = aStore({ cacheDir, daemonId: 'other' });

    await Promise.all([prepare(store, example), prepare(other.store, example)]);

    await expect(store.require({ ...example, version: '2.0.0' })).resolves.toMatchObject({
      install: { command: 'node', args: ['node_modules/@example/server/main.js'] },
    });
    expect(await readdir(join(cacheDir, '.staging', 'other'))).toEqual([]);
  });

  describe('when the registry is slow', () => {
    /** The registry, behind a server that fails a number of times first. */
    async function failing(times: number, fail: (response: ServerResponse) => void): Promise<string> {
      let left = times;
      const server = createServer((request, response) => {
        if (left > 0) {
          left -= 1;
          fail(response);
          return;
        }
        const { method, headers, url = '/' } = request;
        const forwarded = ask(new URL(url, registry.url), { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        });
        request.pipe(forwarded);
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`; // it listens on TCP
    }

    test.each<[string, (response: ServerResponse) => void]>([
      ['answers that the service is unavailable', (response) => response.writeHead(503).end()],
      ['answers for a gateway that waited too long', (response) => response.writeHead(504).end()],
      ['closes the connection', (response) => response.destroy()],
    ])('and %s, the whole installation is tried again once', async (_title, fail) => {
      const { store } = aStore({ url: await failing(1, fail) });

      const preparing = prepare(store, example);

      expect(await preparing).toMatchObject({ version: '2.0.0' });
      expect(preparing.messages).toContainEqual(expect.stringMatching(/: trying again$/));
    });

    test('for long, an installation fails after the second attempt', async () => {
      const { store } = aStore({ url: await failing(Infinity, (response) => response.writeHead(503).end()) });

      const preparing = prepare(store, example);

      await expect(preparing).rejects.toMatchObject({ kind: 'unavailable' });
      expect(preparing.messages.filter((message) => message.endsWith(': trying again'))).toHaveLength(1);
    });
  });

  test('replaces what is no installation', async () => {
    const { store, cacheDir } = aStore();
    const place = join(cacheDir, 'npx', '%40example%2Fserver', '2.0.0');
    await cp(join(folder, 'sources', '1.2.0'), place, { recursive: true });

    await prepare(store, { ...example, version: '2.0.0' });

    await expect(store.require({ ...example, version: '2.0.0' })).resolves.toMatchObject({
      folder: join(place, 'package'),
    });
  });

  test('uses the newest installed version when the registry is gone, and says so', async () => {
    const { store, cacheDir } = aStore();
    for (const version of ['1.10.0', '1.2.0']) await prepare(store, { ...example, version });
    const offline = aStore({ cacheDir, url: 'http://127.0.0.1:9/' });

    const prepared = prepare(offline.store, example);

    expect(await prepared).toMatchObject({ version: '1.10.0' });
    expect(prepared.messages.at(-1)).toMatch(
      /^cannot reach the package registry: .*: using @example\/server 1\.10\.0, which is installed already$/,
    );
  });

  test('says that the registry cannot be reached when nothing is installed', async () => {
    const { store } = aStore({ url: 'http://127.0.0.1:9/' });

    await expect(prepare(store, example)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('cannot reach the package registry'),
    });
  });

  test.each([
    [{ ...example, name: 'no-such-package' }, 'package no-such-package not found'],
    [{ ...example, version: '7.0.0' }, 'version 7.0.0 of package @example/server not found'],
    [{ ...example, version: '^7' }, 'version ^7 of package @example/server not found'],
  ])('says what does not exist: %j', async (source, message) => {
    const { store } = aStore();

    await expect(prepare(store, source)).rejects.toMatchObject({ kind: 'not-found', message });
  });

  test('says that npm is missing and how to get it', async () => {
    const options = {
      daemonId: 'daemon',
      cacheDir: join(folder, 'bare'),
      bundlesDir: join(folder, 'bundles'),
      tempDir: folder,
      env: { PATH: folder },
    };
    const store = new PackageStore(options, () => machine);

    await expect(prepare(store, example)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'npm is not installed',
      hint: expect.stringContaining('nodejs.org'),
    });
  });

  test('leaves nothing of an installation that was given up', async () => {
    await using silent = await openSilentRegistry();
    const { store, cacheDir } = aStore({ url: silent.url });
    const giveUp = new AbortController();
    const prepared = prepare(store, { ...example, version: '1.2.0' }, giveUp.signal);
    await waitFor(() => silent.asked());

    giveUp.abort();

    await expect(prepared).rejects.toMatchObject({ kind: 'cancelled' });
    expect(await readdir(join(cacheDir, '.staging', 'daemon'))).toEqual([]);
    await expect(readdir(join(cacheDir, 'npx'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('goes on for those who still wait when one of them gives up', async () => {
    const { store } = aStore();
    const giveUp = new AbortController();
    const impatient = prepare(store, example, giveUp.signal);
    const patient = prepare(store, example);

    giveUp.abort();

    await expect(impatient).rejects.toMatchObject({ kind: 'cancelled' });
    await expect(patient).resolves.toMatchObject({ version: '2.0.0' });
  });
});

function prepare(store: PackageStore, source: InstallableSource, signal = never) {
  const messages: string[] = [];
  const prepared = store.prepare(source, { report: (message) => messages.push(message), signal });
  return Object.assign(prepared, { messages });
}

test('versions are compared by number, and a release is newer than its pre-releases', () => {
  const versions = ['1.10.0', '1.9.0', '1.10.0-beta.2', '2.0.0-rc.1', '1.10.0-beta.10'];

  expect(versions.toSorted(compareVersions)).toEqual([
    '1.9.0',
    '1.10.0-beta.2',
    '1.10.0-beta.10',
    '1.10.0',
    '2.0.0-rc.1',
  ]);
});

/** A registry that never answers. */
async function openSilentRegistry() {
  let asked = false;
  const server = createServer(() => {
    asked = true;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
