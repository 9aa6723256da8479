import { request } from 'node:http';
import { brotliCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { AppFrames } from './app-frames.ts';
import { openTestApi } from './testing/test-api.ts';
import { openUi } from './ui.ts';

const nothing = { connect_hosts: [], resource_hosts: [] };
const read = async (name: string): Promise<Uint8Array | undefined> =>
  name === 'app-gate.js.br' ? brotliCompressSync('gate()') : undefined;

interface Answer {
  status: number | undefined;
  headers: NodeJS.Dict<string | string[]>;
  text: string;
}

/** Asks for a frame as a browser does, at the loopback address whatever the name. */
function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { host, port, pathname } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const options = { host: '127.0.0.1', port, path: pathname, method, agent: false };
  const sent = request(
    { ...options, headers: { host, 'sec-fetch-dest': 'iframe', ...headers } },
    (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    },
  );
  sent.on('error', reject).end();
  return promise;
}

const pageIn = (url: string, { text }: Answer): string => {
  const [, path = ''] = /data-page="([^"]+)"/.exec(text) ?? [];
  return new URL(path, url).href;
};

test('serves the gate and the document of an app once each, with a policy that allows nothing', async () => {
  await using frames = new AppFrames(read);
  const { url, proof } = await frames.create('127.0.0.1:8080', nothing);
  const { origin } = new URL(url);

  const gate = await ask(url);
  const page = await ask(pageIn(url, gate));
  const again = [await ask(url), await ask(pageIn(url, gate))];

  expect(new URL(url).hostname).toBe('localhost');
  expect(gate.text).toContain(`data-ui="http://127.0.0.1:8080" data-proof="${proof}">gate()</script>`);
  expect(gate.headers['content-security-policy']).toMatch(
    new RegExp(
      `^default-src 'none'; script-src 'nonce-[\\w-]+'; style-src 'nonce-[\\w-]+'; connect-src ${origin}/reachable ${origin}/blocked; frame-src ${origin}/page/; base-uri 'none'; form-action 'none'; frame-ancestors http://127.0.0.1:8080; sandbox allow-scripts allow-forms allow-same-origin$`,
    ),
  );
  expect(gate.headers['connection-allowlist']).toBe(`("${origin}/page/*" "${origin}/reachable")`);
  expect(page.headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src data:; font-src 'none'; connect-src 'none'; frame-src 'none'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors ${origin} http://127.0.0.1:8080; sandbox allow-scripts allow-forms`,
  );
  expect(page.headers).toMatchObject({
    'connection-allowlist': '()',
    'permissions-policy': expect.stringContaining('camera=()'),
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-dns-prefetch-control': 'off',
  });
  for (const { headers } of [gate, page]) {
    expect(headers['set-cookie']).toBeUndefined();
    expect(headers['x-frame-options']).toBeUndefined();
  }
  expect(again.map(({ status }) => status)).toEqual([404, 404]);
});

test('grants only the hosts of the request', async () => {
  await using frames = new AppFrames(read);
  const grants = { connect_hosts: ['https://api.example.com'], resource_hosts: ['https://cdn.example.com'] };
  const { url } = await frames.create('localhost:8080', grants);

  const page = await ask(pageIn(url, await ask(url)));

  expect(new URL(url).hostname).toBe('127.0.0.1');
  expect(page.headers['content-security-policy']).toContain(
    "script-src 'unsafe-inline' https://cdn.example.com; style-src 'unsafe-inline' https://cdn.example.com; img-src data: https://cdn.example.com; media-src data: https://cdn.example.com; font-src https://cdn.example.com; connect-src https://api.example.com; ",
  );
  expect(page.headers['connection-allowlist']).toBe(
    '("https://api.example.com/*" "https://cdn.example.com/*")',
  );
});

test('serves frames to nobody else', async () => {
  await using frames = new AppFrames(read);
  const { url } = await frames.create('127.0.0.1:8080', nothing);
  const { origin, port } = new URL(url);

  const refused = await Promise.all([
    ask(url, { 'sec-fetch-dest': 'document' }),
    ask(url, { 'sec-fetch-dest': 'empty' }),
    ask(url, { host: `127.0.0.1:${port}` }),
    ask(url, { host: 'attacker.example' }),
    ask(url, {}, 'POST'),
    ask(url.replace('/frame/', '/page/')),
    ask(`${origin}/frame/guessed`),
    ask(`${origin}/page/__proto__`),
    ask(`${origin}/api/v1beta/workloads`),
    ask(`${origin}/ui/`),
    ask(`${origin}/`),
  ]);
  const right = await ask(url);

  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 404));
  for (const { headers } of refused)
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(right.status).toBe(200);
});

test('forgets frames that nobody loads', async () => {
  let now = 0;
  await using frames = new AppFrames(read, () => now);
  const { url: late } = await frames.create('127.0.0.1:8080', nothing);
  now = 60_001;
  const { url: pushed } = await frames.create('127.0.0.1:8080', nothing);
  const others = await Promise.all(
    Array.from({ length: 50 }, () => frames.create('127.0.0.1:8080', nothing)),
  );

  const answers = [await ask(late), await ask(pushed), await ask(others.at(-1)?.url ?? '')];

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 200]);
});

test.for([
  '192.168.1.5:8080',
  '127.0.0.2:8080',
  'toolhive.example',
  'localhost.attacker.example:8080',
  'localhost:8080; x',
])('has no origin for a web UI at %s', async (host) => {
  await using frames = new AppFrames(read);

  expect(await frames.originFor(host)).toBeUndefined();
  await expect(frames.create(host, nothing)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('the API hands out frames for its own web UI, whose policy names their origin', async () => {
  await using frames = new AppFrames(read);
  const ui = openUi(async (name) => (name === 'index.html' ? Buffer.from('<h1>UI</h1>') : undefined), frames);
  await using api = await openTestApi({}, { ui, appFrames: frames });

  const page = await api.get('/ui/');
  const created = await api.post('/api/v1beta/ui/apps', {});
  const injected = await api.post('/api/v1beta/ui/apps', {
    connect_hosts: ["https://a.b; script-src 'self'"],
  });
  const foreign = await api.post(
    '/api/v1beta/ui/apps',
    {},
    { 'content-type': 'application/json', origin: (await frames.originFor('127.0.0.1')) ?? '' },
  );

  const { url } = created.json as { url: string };
  expect([created.status, injected.status, foreign.status]).toEqual([201, 400, 403]);
  expect(page.headers['content-security-policy']).toContain(`frame-src ${new URL(url).origin}/frame/;`);
});

test('an API without a web UI has no frames', async () => {
  await using api = await openTestApi();

  const answer = await api.post('/api/v1beta/ui/apps', {});

  expect([answer.status, answer.text]).toEqual([503, 'this listener has no web UI, which shows apps\n']);
});
