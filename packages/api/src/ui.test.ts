import { mkdir, mkdtempDisposable, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openTestApi } from './testing/test-api.ts';
import { keptUiFilesIn, openUi } from './ui.ts';

const files = new Map([
  ['index.html.br', brotliCompressSync('<h1>UI</h1>')],
  ['assets/main-1a2b.js.br', brotliCompressSync('run()')],
  ['icon-512.png', Buffer.from('png')],
]);

const openApi = () => openTestApi({}, { ui: openUi(async (name) => files.get(name)) });

test.for([
  ['/ui/', 200, '<h1>UI</h1>', 'no-cache'],
  ['/ui/w/server.js/tools', 200, '<h1>UI</h1>', 'no-cache'],
  ['/ui/add?tab=paste', 200, '<h1>UI</h1>', 'no-cache'],
  ['/ui/assets/main-1a2b.js', 200, 'run()', 'public, max-age=31536000, immutable'],
  ['/ui/icon-512.png', 200, 'png', 'no-cache'],
  ['/ui/assets/other.js', 404, 'not found\n', 'no-store'],
  ['/ui/assets/../index.html', 200, '<h1>UI</h1>', 'no-cache'],
  ['/ui/%2e%2e/secret', 404, '/secret not found\n', 'no-store'],
] as const)('answers for %s', async ([path, status, text, cacheControl]) => {
  await using api = await openApi();

  const answer = await api.get(path);

  expect([answer.status, answer.text, answer.headers['cache-control']]).toEqual([status, text, cacheControl]);
});

test('has one address', async () => {
  await using api = await openApi();

  const answer = await api.get('/ui');

  expect([answer.status, answer.headers['location']]).toEqual([308, '/ui/']);
});

test('sends compressed files to those who take them', async () => {
  await using api = await openApi();

  const answer = await api.get('/ui/', { 'accept-encoding': 'gzip, br' });
  const refused = await api.get('/ui/', { 'accept-encoding': 'gzip, br;q=0' });

  expect(answer.headers['content-encoding']).toBe('br');
  expect(refused.headers['content-encoding']).toBeUndefined();
});

test('allows pages nothing but their own files and their own API', async () => {
  await using api = await openApi();

  const { headers } = await api.get('/ui/');

  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; frame-src 'none'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  );
  expect(headers['x-frame-options']).toBe('DENY');
  expect(headers['cross-origin-opener-policy']).toBe('same-origin');
});

test('leaves the API as it is', async () => {
  await using api = await openApi();

  const [version, missing] = [await api.get('/api/v1beta/version'), await api.get('/api/v1beta/nothing')];

  expect([version.status, missing.status]).toEqual([200, 404]);
});

const json = { 'content-type': 'application/json' };

test('signs a browser in, and refuses all others', async () => {
  const { UiSessions } = await import('./ui-sessions.ts');
  const { openAccess } = await import('@toolhive/access/access');
  const uiSessions = new UiSessions();
  const access = openAccess({ token: 'correct-horse-battery-staple' });
  await using api = await openTestApi(
    {},
    { access, uiSessions, ui: openUi(async (name) => files.get(name)) },
  );
  const code = uiSessions.issueCode();
  const host = `127.0.0.1:${api.port}`;

  const page = await api.get('/ui/');
  const wrong = await api.post('/api/v1beta/ui/session', { code: 'guessed' });
  const right = await api.post('/api/v1beta/ui/session', { code });
  const [cookie = ''] = String(right.headers['set-cookie']).split(';');
  const list = (headers: Record<string, string>) => api.get('/api/v1beta/workloads', headers);
  const statuses = await Promise.all([
    list({}),
    list({ cookie }),
    list({ cookie, 'sec-fetch-site': 'same-origin' }),
    list({ cookie, 'sec-fetch-site': 'same-origin', origin: `http://${host}` }),
    list({ cookie, 'sec-fetch-site': 'same-origin', origin: 'http://evil.example' }),
    list({ cookie, 'sec-fetch-site': 'same-site' }),
    list({ cookie: `${cookie}x`, 'sec-fetch-site': 'same-origin' }),
    list({ cookie: cookie.replace(String(api.port), '1'), 'sec-fetch-site': 'same-origin' }),
    list({ authorization: 'Bearer correct-horse-battery-staple' }),
    list({ cookie, 'sec-fetch-site': 'same-origin', authorization: 'Bearer wrong' }),
  ]);

  expect([page.status, wrong.status, right.status]).toEqual([200, 401, 204]);
  expect(statuses.map(({ status }) => status)).toEqual([401, 401, 200, 200, 403, 403, 401, 401, 200, 401]);
});

test('a page of another site cannot use up or exchange codes', async () => {
  const { UiSessions } = await import('./ui-sessions.ts');
  const uiSessions = new UiSessions();
  await using api = await openTestApi({}, { uiSessions });
  const code = uiSessions.issueCode();

  const foreign = await api.post(
    '/api/v1beta/ui/session',
    { code },
    { ...json, origin: 'http://evil.example' },
  );
  const form = await api.post('/api/v1beta/ui/session', { code }, { 'content-type': 'text/plain' });

  expect([foreign.status, form.status]).toEqual([403, 415]);
  expect(uiSessions.accepts(uiSessions.redeem(code))).toBe(true);
});

test('keeps its files when an upgrade of the package replaces them', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-ui-'));
  const assets = join(folder.path, 'assets');
  await mkdir(assets);
  await writeFile(join(folder.path, 'index.html.br'), 'old page');
  await writeFile(join(assets, 'main-1.js.br'), 'old script');
  const read = keptUiFilesIn(folder.path, 60_000);
  const text = async (name: string): Promise<string | undefined> =>
    Buffer.from((await read(name)) ?? []).toString() || undefined;
  const before = await text('index.html.br');

  await rm(join(assets, 'main-1.js.br'));
  await writeFile(join(assets, 'main-2.js.br'), 'new script');
  await writeFile(join(folder.path, 'index.html.br'), 'new page');

  expect([before, await text('index.html.br')]).toEqual(['old page', 'old page']);
  expect(await text('assets/main-1.js.br')).toBe('old script');
  expect(await text('assets/main-2.js.br')).toBeUndefined();
});
