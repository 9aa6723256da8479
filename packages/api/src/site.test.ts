import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';
import { openSite } from './site.ts';

describe('the documentation beside the API', () => {
  test.for([
    ['/', 200, '<h1>Home'],
    ['/guide', 200, '<h1>Guide'],
    ['/guide/', 200, '<h1>Guide'],
    ['/a%20b.txt', 200, 'spaced'],
    ['/nothing', 404, '<h1>Nothing here'],
    ['/api-specs/api.yaml', 200, 'openapi'],
  ] as const)('answers for %s', async ([path, status, start]) => {
    await using served = await serve();

    const answer = await served.api.get(path);

    expect([answer.status, answer.text.slice(0, start.length)]).toEqual([status, start]);
  });

  test.for([
    '/../secret',
    '/%2e%2e/secret',
    '/..%2fsecret',
    '/link',
    '/.inputs',
    '/guide%00',
    '/%',
    '/guide%5C..',
    '//example.org/guide.html',
  ])('shows nothing beside the site for %s', async (path) => {
    await using served = await serve();

    const answer = await served.api.get(path);

    expect([answer.status, answer.text.includes('secret')]).toEqual([404, false]);
  });

  test.for([
    ['/guide.html', '/guide'],
    ['/guide/index.html?q=1', '/guide/?q=1'],
    ['/index.html', '/'],
  ] as const)('knows one address for each page: %s', async ([path, canonical]) => {
    await using served = await serve();

    const answer = await served.api.get(path);

    expect([answer.status, answer.headers['location']]).toEqual([308, canonical]);
  });

  test('leaves the API as it is', async () => {
    await using served = await serve();

    const answers = await Promise.all([
      served.api.get('/version'),
      served.api.get('/api/v1beta/nothing'),
      served.api.send('POST', '/guide', { 'content-type': 'application/json' }, '{}'),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([200, 404, 404]);
    expect(answers[1]?.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
  });

  test('is read without a token, which the API asks for', async () => {
    const access = () => Promise.reject(new Error('nobody'));
    await using served = await serve({ access });

    const [page, api] = [await served.api.get('/guide'), await served.api.get('/version')];

    expect([page.status, api.status]).toEqual([200, 500]);
  });

  test('is kept by browsers where a name never means anything else, and asked for where it may', async () => {
    await using served = await serve();

    const page = await served.api.get('/guide');
    const asset = await served.api.get('/assets/main.1234.js');
    const again = await served.api.get('/guide', { 'if-none-match': String(page.headers['etag']) });

    expect(page.headers['cache-control']).toBe('no-cache');
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect([again.status, again.text]).toEqual([304, '']);
  });

  test.for([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['BR; q=0.1', 'br'],
    ['br;q=0.0, gzip; q=0', undefined],
    ['brotli, x-br', undefined],
    ['', undefined],
  ] as const)(
    'is sent as the build compressed it to clients that accept this: “%s”',
    async ([accepted, encoding]) => {
      await using served = await serve();

      const answer = await served.api.get('/assets/main.1234.js', { 'accept-encoding': accepted });

      expect(answer.headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        vary: 'accept-encoding',
      });
      expect(answer.headers['content-encoding']).toBe(encoding);
      expect(answer.text === 'script()').toBe(encoding === undefined);
    },
  );

  test('is the same in every encoding to clients that have it already', async () => {
    await using served = await serve();
    const { headers } = await served.api.get('/assets/main.1234.js', { 'accept-encoding': 'br' });

    const again = await served.api.get('/assets/main.1234.js', {
      'accept-encoding': 'gzip',
      'if-none-match': `"other", ${String(headers['etag'])}`,
    });

    expect([again.status, again.text, again.headers['vary']]).toEqual([304, '', 'accept-encoding']);
  });

  test('is sent as it is where what was made of it leads out of the site', async () => {
    await using served = await serve();
    await symlink('../secret', join(served.folder, 'index.html.br'));

    const answer = await served.api.get('/', { 'accept-encoding': 'br' });

    expect([answer.text, answer.headers['content-encoding']]).toEqual(['<h1>Home</h1>', undefined]);
  });

  test('has the policy of its build', async () => {
    await using served = await serve();

    const page = await served.api.get('/guide');
    const missing = await served.api.get('/nothing');
    const asset = await served.api.get('/assets/main.1234.js');

    for (const { headers } of [page, missing]) {
      expect(headers['content-security-policy']).toBe("default-src 'self'");
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
    expect(asset.headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(asset.headers['x-content-type-options']).toBe('nosniff');
  });

  test('does not exist before the build, and exists afterwards', async () => {
    await using served = await serve();
    await rename(served.folder, `${served.folder}-away`);

    const before = await served.api.get('/guide');
    await rename(`${served.folder}-away`, served.folder);
    const after = await served.api.get('/guide');

    expect([before.status, before.text, after.status]).toEqual([404, '/guide not found\n', 200]);
  });
});

interface Served extends AsyncDisposable {
  api: TestApi;
  folder: string;
}

/** An API with a small site, in a folder next to a private file. */
async function serve(options: Parameters<typeof openTestApi>[1] = {}): Promise<Served> {
  const parent = await mkdtemp(join(tmpdir(), 'site-'));
  const folder = join(parent, 'site');
  const files: Record<string, string | Buffer> = {
    '../secret': 'secret',
    'index.html': '<h1>Home</h1>',
    '404.html': '<h1>Nothing here</h1>',
    'guide/index.html': '<h1>Guide</h1>',
    'a b.txt': 'spaced',
    'api-specs/api.yaml': 'openapi: 3.1.0',
    'assets/main.1234.js': 'script()',
    'assets/main.1234.js.br': brotliCompressSync('script()'),
    'assets/main.1234.js.gz': gzipSync('script()'),
    'headers.json': JSON.stringify({ 'content-security-policy': "default-src 'self'" }),
    '.inputs': 'secret',
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await symlink('../secret', join(folder, 'link'));
  const api = await openTestApi({}, { ...options, site: openSite(folder) });
  return {
    api,
    folder,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await rm(parent, { recursive: true, force: true });
    },
  };
}
