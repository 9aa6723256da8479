import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Registry } from '@toolhive/contract/registry';
import { inOrder } from '@toolhive/contract/registry-order';
import { ThvError, messageOf } from '@toolhive/contract/failure';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { SettingsFile } from '@toolhive/state/settings-file';
import { FileSource } from './file-source.ts';
import { readRegistry } from './read.ts';
import { unread } from './source.ts';
import { RegistryStore } from './store.ts';
import { UrlSource } from './url-source.ts';

/** Waits for what takes as long as the machine is busy. */
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000 });

let folder: string;
let settingsPath: string;
let clock: Date;
let changes: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-registry-'));
  settingsPath = join(folder, 'config.yaml');
  clock = new Date('2026-01-01T00:00:00Z');
  changes = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A store over the settings in the folder of the test. */
async function openStore(settings = ''): Promise<RegistryStore> {
  if (settings !== '') await writeFile(settingsPath, settings);
  return RegistryStore.open({
    settings: await SettingsFile.open(settingsPath, pino({ level: 'silent' })),
    cacheDir: join(folder, 'cache'),
    log: pino({ level: 'silent' }),
    onChange: () => changes++,
    now: () => clock,
  });
}

const later = (minutes: number): Date => (clock = new Date(clock.getTime() + minutes * 60_000));

const registryWith = (...names: string[]) => ({
  version: '2.0.0',
  last_updated: '2026-01-01T00:00:00Z',
  servers: Object.fromEntries(
    names.map((name) => [name, { image: `example/${name}:1`, description: `The server ${name}.` }]),
  ),
});

const onDisk = () => readFile(settingsPath, 'utf8').catch(() => '');

/** A source on loopback that says whatever a test puts into `answer`. */
async function openSource(answer: RequestListener) {
  const source = { answer, requests: [] as IncomingMessage[], url: '', close };
  const server = createServer((request, response) => {
    source.requests.push(request);
    source.answer(request, response);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  source.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(source, { [Symbol.asyncDispose]: close });

  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

const saying =
  (document: unknown, headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(200, headers).end(JSON.stringify(document));

const failing: RequestListener = (_request, response) => void response.writeHead(503).end('secret');

describe('the registry', () => {
  test('is the built-in one as long as nothing else is set', async () => {
    await using store = await openStore();

    expect(await store.info()).toEqual({
      name: 'default',
      version: '1.0.0',
      last_updated: expect.any(String) as string,
      server_count: 49,
      type: 'default',
      source: '',
    });
  });

  test('gives what a search finds, page by page', async () => {
    await using store = await openStore();
    const names = async (query: Parameters<typeof store.servers>[0]) => {
      const { servers, remote_servers: remote, total } = await store.servers(query);
      return { names: [...servers, ...remote].map(({ name = '' }) => name).toSorted(), total };
    };

    const all = await names({});
    const pages = [
      await names({ limit: 20 }),
      await names({ limit: 20, offset: 20 }),
      await names({ offset: 40 }),
    ];

    expect(pages.flatMap((page) => page.names)).toEqual(all.names);
    expect(pages.map(({ total }) => total)).toEqual([all.total, all.total, all.total]);
    expect(await names({ search: 'Brave search' })).toEqual({ names: ['brave-search'], total: 1 });
    expect((await names({ search: 'notion', limit: 1 })).total).toBe(2);
    expect(await names({ search: 'no such words' })).toEqual({ names: [], total: 0 });
    expect((await names({ offset: 1000 })).names).toEqual([]);
  });

  test('finds an entry by its exact name in the MCP registry, too', async () => {
    const name = 'io.github.example/far';
    const far = {
      description: 'The remote server far.',
      transport: 'sse',
      url: 'https://far.example/sse',
      custom_metadata: { registry_name: name },
    };
    const path = join(folder, 'registry.json');
    await writeFile(path, JSON.stringify({ ...registryWith('near'), remote_servers: { far } }));
    await using store = await openStore(`local_registry_path: ${path}\n`);

    const found = await store.server(name);

    expect(found).toMatchObject({ is_remote: true, remote_server: { name: 'far' } });
    await expect(store.server('io.github.example/near')).rejects.toMatchObject({ kind: 'not-found' });
  });

  test('ranks what a search finds, also across pages and in spite of a typing error', async () => {
    await using store = await openStore();
    const ranking = async (query: Parameters<typeof store.servers>[0]) =>
      (await store.servers(query)).ranking;

    const all = (await ranking({ search: 'search' })) ?? [];

    expect(all[0]).toMatch(/search/);
    expect([
      ...((await ranking({ search: 'search', limit: 2 })) ?? []),
      ...((await ranking({ search: 'search', offset: 2 })) ?? []),
    ]).toEqual(all);
    expect((await ranking({ search: 'githb' }))?.[0]).toBe('github');
    expect(await ranking({})).toBeUndefined();
    expect(inOrder(await store.servers({ search: 'notion remote' })).map(({ name }) => name)[0]).toBe(
      'notion-remote',
    );
  });

  test('searches the entries of a new source', async () => {
    await using source = await openSource(saying(registryWith('weather')));
    await using store = await openStore();
    const before = await store.servers({ search: 'github' });

    await store.update({ url: source.url, allow_private_ip: true });

    expect(before.total).toBeGreaterThan(0);
    expect((await store.servers({ search: 'github' })).total).toBe(0);
  });

  test('gives its entries by name', async () => {
    await using store = await openStore();

    const { servers, remote_servers } = await store.servers();

    expect(servers.map(({ name }) => name)).toEqual(Object.keys(store.current.servers).toSorted());
    expect(remote_servers.map(({ name }) => name)).toEqual(['notion-remote']);
    expect(await store.server('fetch')).toMatchObject({ server: { name: 'fetch' }, is_remote: false });
    expect(await store.server('notion-remote')).toMatchObject({ is_remote: true });
    await expect(store.server('constructor')).rejects.toThrow('the registry has no server constructor');
  });

  test('comes from an address before a file', async () => {
    await using source = await openSource(saying(registryWith('from-url')));
    const path = join(folder, 'registry.json');
    await writeFile(path, JSON.stringify(registryWith('from-file')));

    await using store = await openStore(
      `registry_url: ${source.url}/r.json\nlocal_registry_path: ${path}\nallow_private_registry_ip: true\n`,
    );

    expect(await store.details()).toMatchObject({ type: 'url', registry: { servers: { 'from-url': {} } } });
  });
});

describe('an address', () => {
  const settings = (url: string) => `registry_url: ${url}/r.json\nallow_private_registry_ip: true\n`;

  test('is asked when the registry is first needed, once for all who need it', async () => {
    await using source = await openSource(saying(registryWith('one')));
    await using store = await openStore(settings(source.url));
    const askedAtFirst = source.requests.length;

    const infos = await Promise.all([store.info(), store.info(), store.resolve('one', { runs: 'images' })]);

    expect(askedAtFirst).toBe(0);
    expect(source.requests).toHaveLength(1);
    expect(infos[0]).toMatchObject({ server_count: 1, fetched_at: '2026-01-01T00:00:00.000Z' });
    expect(infos[2].source).toEqual({ kind: 'image', image: 'example/one:1' });
  });

  test('is asked again after a while, without anyone waiting, and only for what has changed', async () => {
    await using source = await openSource(saying(registryWith('one'), { etag: '"1"' }));
    await using store = await openStore(settings(source.url));
    await store.info();
    source.answer = ({ headers }, response) =>
      void response.writeHead(headers['if-none-match'] === '"1"' ? 304 : 500).end();
    changes = 0;

    later(4);
    await store.info();
    const asked = source.requests.length;
    later(2);
    const info = await store.info();
    await until(async () => expect((await store.info()).fetched_at).toBe(clock.toISOString()));

    expect(asked).toBe(1);
    expect(info).toMatchObject({ server_count: 1, fetched_at: '2026-01-01T00:00:00.000Z' });
    expect(source.requests).toHaveLength(2);
    expect(changes).toBe(0);
  });

  test('that says something new is believed, and that is told', async () => {
    await using source = await openSource(saying(registryWith('one'), { 'last-modified': 'yesterday' }));
    await using store = await openStore(settings(source.url));
    await store.info();
    source.answer = saying(registryWith('one', 'two'));
    changes = 0;

    await store.refresh();

    expect(source.requests[1]?.headers['if-modified-since']).toBe('yesterday');
    expect(Object.keys(store.current.servers)).toEqual(['one', 'two']);
    expect(changes).toBe(1);
  });

  test('that is down leaves what it said last, and the reason', async () => {
    await using source = await openSource(saying(registryWith('one')));
    await using store = await openStore(settings(source.url));
    await store.info();
    source.answer = failing;

    await store.refresh();
    const down = await store.info();
    source.answer = saying(registryWith('one'));
    await store.refresh();

    expect(down).toMatchObject({
      server_count: 1,
      stale: true,
      problem: expect.stringContaining('503') as string,
    });
    expect(down.problem).not.toContain('secret');
    expect(await store.info()).not.toHaveProperty('problem');
  });

  test('is known to the next daemon, also when it is down by then', async () => {
    const source = await openSource(saying(registryWith('one'), { etag: '"1"' }));
    {
      await using store = await openStore(settings(source.url));
      await store.info();
    }
    await source.close();

    await using store = await openStore();
    const info = await store.info();
    await store.refresh();

    expect(info).toMatchObject({ server_count: 1, type: 'url' });
    expect(await store.info()).toMatchObject({ server_count: 1, stale: true });
  });

  test('that was never read leaves nothing, rather than another registry', async () => {
    await using source = await openSource(failing);
    await using store = await openStore(settings(source.url));

    const info = await store.info();

    expect(info).toMatchObject({ server_count: 0, problem: expect.stringContaining('503') as string });
    expect(info).not.toHaveProperty('stale');
    await expect(store.resolve('fetch', { runs: 'images' })).rejects.toThrow('the registry cannot be read: ');
    await expect(store.server('fetch')).rejects.toHaveProperty('kind', 'unavailable');
    expect((await store.resolve('npx://fetch', { runs: 'packages' })).source).toMatchObject({
      kind: 'package',
    });
    expect((await store.resolve('docker.io/library/fetch', { runs: 'images' })).source.kind).toBe('image');
  });

  test('that takes its time is not waited for endlessly', async () => {
    let finish = (): void => {};
    await using source = await openSource((request, response) => {
      finish = () => saying(registryWith('one'))(request, response);
    });
    await using slow = await UrlSource.open({
      url: `${source.url}/r.json`,
      allowPrivate: true,
      cacheDir: join(folder, 'cache'),
      log: pino({ level: 'silent' }),
      fetch: undefined,
      now: () => clock,
      onChange: () => changes++,
      patienceMs: 20,
    });

    await slow.read();
    const { isUnread, problem } = slow.state;
    await until(() => expect(source.requests).toHaveLength(1));
    finish();
    await until(() => expect(slow.state.isUnread).toBe(false));
    await until(() => expect(changes).toBe(1));

    expect([isUnread, problem]).toEqual([true, 'the registry is still being read']);
  });

  test('that fails is left alone for a moment', async () => {
    await using source = await openSource(failing);
    await using store = await openStore(settings(source.url));

    await store.info();
    await store.info();
    const atFirst = source.requests.length;
    later(1);
    await store.info();

    expect([atFirst, source.requests.length]).toEqual([1, 2]);
  });

  test.each([
    ['that was read', saying(registryWith('one'))],
    ['that failed', failing],
  ])('%s is asked again when the clock was set back', async (_outcome, answer) => {
    await using source = await openSource(answer);
    await using store = await openStore(settings(source.url));
    await store.info();
    source.answer = saying(registryWith('two'));

    later(-24 * 60);
    await store.info();

    await until(() => expect(Object.keys(store.current.servers)).toEqual(['two']));
  });

  test('tells which entries are left out, and does not run their namesakes', async () => {
    const document = registryWith('good', 'bad');
    await using source = await openSource(
      saying({ ...document, servers: { ...document.servers, bad: { image: '--privileged' } } }),
    );
    await using store = await openStore(settings(source.url));

    expect(await store.info()).toMatchObject({
      skipped: [{ name: 'bad' }],
      skipped_count: 1,
      server_count: 1,
    });
    await expect(store.resolve('bad', { runs: 'images' })).rejects.toThrow(
      'the registry entry bad cannot be used: ',
    );
  });

  test('with a password is refused, and the password shown nowhere', async () => {
    await using store = await openStore('registry_url: https://me:secret@registry.example/r.json\n');

    expect(JSON.stringify(await store.info())).not.toContain('secret');
    expect((await store.info()).problem).toContain('contains a user name or a password');
  });

  test('inside is refused unless that is allowed', async () => {
    await using store = await openStore('registry_url: https://127.0.0.1/r.json\n');

    expect((await store.info()).problem).toBe('127.0.0.1 is a loopback address');
  });
});

describe('the list of an API', () => {
  const item = (name: string) => ({
    server: {
      name,
      packages: [{ registryType: 'npm', identifier: 'example', transport: { type: 'stdio' } }],
    },
  });
  const pages: RequestListener = ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname !== '/v0.1/servers') return void response.writeHead(404).end();
    const at = Number(searchParams.get('cursor') ?? 0);
    const metadata = at < 2 ? { nextCursor: String(at + 1) } : {};
    return void response.end(JSON.stringify({ servers: [item(`com.example/s${at}`)], metadata }));
  };

  test.each(['', '/', '/v0.1/servers', '/v0.1/servers?limit=7'])(
    'is read page by page from %j',
    async (path) => {
      await using source = await openSource(pages);
      await using store = await openStore();

      await store.update({ url: `${source.url}${path}`, allow_private_ip: true });

      expect(Object.keys(store.current.servers)).toEqual([
        'com-example-s0',
        'com-example-s1',
        'com-example-s2',
      ]);
      expect(source.requests.map(({ url }) => url)).toEqual([
        expect.stringMatching(/limit=(100|7)&version=latest$/) as string,
        expect.stringMatching(/cursor=1$/) as string,
        expect.stringMatching(/cursor=2$/) as string,
      ]);
    },
  );

  test('is found below the address of something else', async () => {
    await using source = await openSource(({ url = '' }, response) =>
      url.startsWith('/registry/v0.1/servers?')
        ? void response.end(JSON.stringify({ servers: [item('com.example/s')], metadata: {} }))
        : void response.end('<html>'),
    );
    await using store = await openStore();

    await store.update({ url: `${source.url}/registry`, allow_private_ip: true });

    expect(Object.keys(store.current.servers)).toEqual(['com-example-s']);
  });

  test.each<[string, (servers: unknown[], next: string | undefined) => object]>([
    ['data', (data, nextCursor) => ({ data, pagination: { nextCursor } })],
    ['items', (items, next_cursor) => ({ items, next_cursor })],
    [
      'servers in data',
      (servers, nextCursor) => ({ status: 'ok', data: { servers, metadata: { nextCursor } } }),
    ],
    [
      'results, with the address of the next page',
      (results, at) => ({ results, next: at && `/v1/mcp?cursor=${at}` }),
    ],
    ['data, with links', (data, at) => ({ data, links: { next: at ? { href: `?cursor=${at}` } : null } })],
  ])('may have its servers in %s', async (_what, pageOf) => {
    await using source = await openSource(({ url = '' }, response) => {
      const at = Number(new URL(url, 'http://localhost').searchParams.get('cursor') ?? 0);
      const servers = at < 2 ? [item(`com.example/s${at}`)] : [];
      response.end(JSON.stringify(pageOf(servers, at < 2 ? String(at + 1) : undefined)));
    });
    await using store = await openStore();

    await store.update({ url: `${source.url}/v1/mcp`, allow_private_ip: true });

    expect(Object.keys(store.current.servers)).toEqual(['com-example-s0', 'com-example-s1']);
  });

  test.each<[string, object]>([
    [
      'the list names no next page, and only 1 of its 250 servers are known',
      { data: [item('com.example/s')], meta: { total: 250 } },
    ],
    [
      'the next page of the list is at another host, and only its first 1 servers are known',
      { items: [item('com.example/s')], next: 'https://other.example/page2' },
    ],
  ])('is used as far as it is known: %s', async (problem, document) => {
    await using source = await openSource(saying(document));
    await using store = await openStore();

    await store.update({ url: source.url, allow_private_ip: true });

    expect(await store.info()).toMatchObject({ server_count: 1, problem });
  });

  test('is not found in other data', async () => {
    await using source = await openSource(saying({ data: [{ id: 1, name: 'a user' }] }));
    await using store = await openStore();

    const updated = store.update({ url: source.url, allow_private_ip: true });

    await expect(updated).rejects.toThrow('contains no registry');
  });

  test('that leads in a circle is refused', async () => {
    await using source = await openSource(saying({ servers: [], metadata: { nextCursor: 'same' } }));
    await using store = await openStore();

    const updated = store.update({ url: source.url, allow_private_ip: true });

    await expect(updated).rejects.toThrow('refers back to an earlier page');
  });

  test('that is too long is cut off, and that is told', async () => {
    let page = 0;
    await using source = await openSource((_request, response) =>
      response.end(
        JSON.stringify({ servers: [item(`com.example/s${page}`)], metadata: { nextCursor: `${page++}` } }),
      ),
    );
    await using store = await openStore();

    await store.update({ url: source.url, allow_private_ip: true });

    expect(await store.info()).toMatchObject({
      server_count: 300,
      problem: 'the list is too long, and only its first 300 servers are known',
    });
    expect(await store.info()).not.toHaveProperty('stale');
  });
});

describe('a change of the source', () => {
  test('to an address is proven, saved and told', async () => {
    proves('api.registry');
    await using source = await openSource(saying(registryWith('one')));
    await using store = await openStore('local_registry_path: /old.json\n');

    const updated = await store.update({ url: `${source.url}/r.json`, allow_private_ip: true });

    expect(updated).toEqual({ message: `ToolHive now uses the registry ${source.url}/r.json`, type: 'url' });
    expect(await onDisk()).toBe(`registry_url: ${source.url}/r.json\nallow_private_registry_ip: true\n`);
    expect(Object.keys(store.current.servers)).toEqual(['one']);
    expect(changes).toBe(1);
  });

  test.each([
    ['{"version":"1.0.0"}', 'the document contains no registry'],
    ['no json', 'is not JSON'],
    ['['.repeat(65), 'nests deeper than 64 levels'],
    [`"${'x'.repeat(16 * 1024 * 1024)}"`, 'is larger than 16777216 bytes'],
  ])('to an address that says %.20s changes nothing', async (body, reason) => {
    await using source = await openSource((_request, response) => response.end(body));
    await using store = await openStore();

    const updated = store.update({ url: `${source.url}/r.json`, allow_private_ip: true });

    await expect(updated).rejects.toThrow(reason);
    await expect(updated).rejects.toHaveProperty('kind', 'invalid');
    expect((await store.info()).type).toBe('default');
    expect([await onDisk(), changes]).toEqual(['', 0]);
  });

  test.each([
    [{ url: 'https://a.example', local_path: '/a.json' }, 'not both'],
    [{ url: 'https://127.0.0.1/' }, '127.0.0.1 is a loopback address'],
    [{ url: 'http://a.example/' }, 'is not https'],
    [{ url: 'nonsense' }, 'is not a URL'],
    [{ url: 'http://127.0.0.1:1/', allow_private_ip: true }, 'ECONNREFUSED'],
    [{ local_path: '/nowhere/registry.json' }, '/nowhere/registry.json not found'],
    [{ local_path: '/etc/passwd' }, 'does not end in .json'],
    [{ local_path: 'file:///%2fetc/x.json' }, 'not found'],
  ])('as %j is refused with the reason', async (change, reason) => {
    await using store = await openStore();

    const updated = store.update(change);

    await expect(updated).rejects.toThrow(reason);
    await expect(updated).rejects.toHaveProperty('kind', 'invalid');
  });

  test('to a file is proven and saved with its whole path', async () => {
    await using store = await openStore(
      'registry_url: https://old.example\nallow_private_registry_ip: true\n',
    );
    const path = join(folder, 'registry.json');
    await writeFile(path, JSON.stringify(registryWith('mine')));

    const updated = await store.update({ local_path: pathToFileURL(path).href });

    expect(updated).toEqual({ message: `ToolHive now uses the registry ${path}`, type: 'file' });
    expect(await onDisk()).toBe(`local_registry_path: ${path}\n`);
  });

  test('to nothing brings the built-in one back, and forgets the copy', async () => {
    await using source = await openSource(saying(registryWith('one')));
    await using store = await openStore();
    await store.update({ url: source.url, allow_private_ip: true });
    const copies = await readdir(join(folder, 'cache'));

    const updated = await store.update({});

    expect(updated.type).toBe('default');
    expect(store.current.servers).toHaveProperty('fetch');
    expect(await onDisk()).toBe('{}\n');
    expect([copies.length, (await readdir(join(folder, 'cache'))).length]).toEqual([1, 0]);
  });

  test('that cannot be saved changes nothing', async () => {
    await using source = await openSource(saying(registryWith('one')));
    await using store = await openStore();
    await writeFile(settingsPath, '{ broken');

    const updated = store.update({ url: source.url, allow_private_ip: true });

    await expect(updated).rejects.toHaveProperty('kind', 'conflict');
    expect((await store.info()).type).toBe('default');
  });

  test('is given up when the store is closed', async () => {
    await using source = await openSource(() => {});
    const store = await openStore();

    const updated = store.update({ url: source.url, allow_private_ip: true }).catch(messageOf);
    await until(() => expect(source.requests).toHaveLength(1));
    await store[Symbol.asyncDispose]();

    expect(await updated).toContain('is no longer wanted');
  });
});

describe('a file', () => {
  let path: string;
  beforeEach(async () => {
    await mkdir(join(folder, 'files'));
    path = join(folder, 'files', 'registry.json');
    await writeFile(path, JSON.stringify(registryWith('one')));
  });
  const openFile = () => openStore(`local_registry_path: ${path}\n`);
  const names = (store: RegistryStore) => Object.keys(store.current.servers);

  test('is read at once', async () => {
    await using store = await openFile();

    expect(await store.info()).toMatchObject({ type: 'file', source: path, server_count: 1 });
  });

  test('is read again when it is written', async () => {
    await using store = await openFile();

    await writeFile(path, JSON.stringify(registryWith('one', 'two')));

    await until(() => expect(names(store)).toEqual(['one', 'two']));
    expect(changes).toBeGreaterThan(0);
  });

  test('has groups, whose entries are found in them and nowhere else', async () => {
    const { servers } = registryWith('inside');
    const remote = { far: { description: 'Far away.', url: 'https://mcp.example/mcp' } };
    const groups = [{ name: 'team', servers, remote_servers: remote }];
    await writeFile(path, JSON.stringify({ ...registryWith('one'), groups }));
    await using store = await openFile();

    const team = await store.catalogueFor('inside', 'team');
    const { entry } = await store.resolve('inside', { runs: 'images' }, 'team');

    expect([Object.keys(team.servers), Object.keys(team.remote_servers)]).toEqual([['inside'], ['far']]);
    expect(entry?.name).toBe('inside');
    expect(names(store)).toEqual(['one']);
    await expect(store.catalogueFor('one', 'team')).rejects.toThrow('has no server one');
    await expect(store.catalogueFor('inside', 'other')).rejects.toThrow('the registry has no group other');
    expect((await store.resolve('inside', { runs: 'images' })).entry).toBeUndefined();
  });

  test('is followed when editors replace it, again and again', async () => {
    await using store = await openFile();

    for (const name of ['two', 'three']) {
      await writeFile(`${path}.new`, JSON.stringify(registryWith(name)));
      await rename(`${path}.new`, path);
      await until(() => expect(names(store)).toEqual([name]));
    }
  });

  test('that an edit breaks keeps its last content until it is fixed', async () => {
    await using store = await openFile();

    await writeFile(path, '{ "servers": ');
    await until(async () =>
      expect(await store.info()).toMatchObject({ stale: true, problem: expect.any(String) as string }),
    );
    const broken = names(store);
    await writeFile(path, JSON.stringify(registryWith('two')));
    await until(() => expect(names(store)).toEqual(['two']));

    expect(broken).toEqual(['one']);
    expect(await store.info()).not.toHaveProperty('problem');
  });

  test('may go away and come back', async () => {
    await using store = await openFile();

    await rm(path);
    await until(async () => expect((await store.info()).problem).toContain('not found'));
    const gone = names(store);
    await writeFile(path, JSON.stringify(registryWith('two')));

    await until(() => expect(names(store)).toEqual(['two']));
    expect(gone).toEqual(['one']);
  });

  test('may go away with its folder, which takes the watch along, and come back', async () => {
    const log = pino({ level: 'silent' });
    await using file = await FileSource.open({ path, log, now: () => clock, onChange: () => {}, pollMs: 50 });

    for (const name of ['two', 'three']) {
      await rm(join(folder, 'files'), { recursive: true });
      await until(() => expect(file.state.problem).toBe(`${path} not found`));
      await mkdir(join(folder, 'files'));
      await writeFile(path, JSON.stringify(registryWith(name)));
      await until(() => expect(Object.keys(file.state.registry.servers)).toEqual([name]));
    }
  });

  test('that is a folder is no registry', async () => {
    await rm(path);
    await mkdir(path);

    await using store = await openFile();

    expect((await store.info()).problem).toBe(`${path} is not a file`);
  });

  test('that is set again is still followed', async () => {
    await using store = await openFile();
    await store.update({ local_path: path });

    await writeFile(path, JSON.stringify(registryWith('two')));

    await until(() => expect(names(store)).toEqual(['two']));
  });
});

test('whatever a source says, what is taken from it is a registry', () => {
  const name = fc.oneof(
    fc.constantFrom('servers', 'remote_servers', 'groups', 'name', 'packages', 'remotes'),
    fc.string(),
  );
  const entry = fc.record(
    {
      image: fc.oneof(fc.constantFrom('a/b:1', 'npx://a', 'go://./a', '--x'), fc.anything()),
      url: fc.oneof(fc.constantFrom('https://a.example', 'http://u:p@a.example', 'x'), fc.anything()),
      transport: fc.oneof(fc.constantFrom('stdio', 'sse'), fc.anything()),
      env_vars: fc.oneof(fc.array(fc.record({ name: fc.string() })), fc.anything()),
      packages: fc.array(
        fc.record({ registryType: fc.constantFrom('npm', 'oci', 'mcpb'), identifier: fc.string() }),
      ),
      remotes: fc.array(fc.record({ type: fc.constantFrom('sse', 'x'), url: fc.webUrl() })),
      name: fc.string(),
      description: fc.anything(),
    },
    { requiredKeys: [] },
  );
  const document = fc.oneof(
    fc.dictionary(name, fc.oneof(fc.dictionary(fc.string(), entry), fc.array(entry), fc.anything())),
    fc.array(fc.oneof(entry, fc.record({ server: entry }))),
    fc.anything(),
  );

  fc.assert(
    fc.property(document, (value) => {
      const registry = readOrRefuse(JSON.parse(JSON.stringify(value) ?? 'null'));
      expect(Registry.parse(registry)).toEqual(registry);
    }),
    { numRuns: 200 },
  );
});

/** Anything but a refusal in the product's words is a bug. */
function readOrRefuse(document: unknown): Registry {
  try {
    return readRegistry(document).registry;
  } catch (error) {
    if (error instanceof ThvError) return unread.registry;
    throw error;
  }
}
