// @suite ui (in depth)
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { makeUser } from '../testing/thv.ts';
import { openPage, useBrowser } from './world.ts';

// What a browser does for other programs that listen on this machine. Cookies and sites ignore ports.

useBrowser({ isShared: false });

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

/** Listens on another port, remembers the cookies that come there, and answers with a page that fetches one more. */
async function openOtherPort() {
  const cookies: string[] = [];
  const server = createServer((request, response) => {
    cookies.push(...(request.headers.cookie?.split('; ') ?? []));
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<title>other</title><script>fetch("/api/x").then(() => (document.title = "fetched"))</script>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    cookies,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => void server.close(),
  };
}

test.runIf(isRoot)(
  'another user of this machine who gets the cookie of a browser cannot use it',
  async () => {
    await using user = await makeUser();
    using other = await openOtherPort();
    const address = new URL((await user.mustThv('ui', '--no-browser')).trim());
    await using visited = await openPage(address.origin, `${address.pathname}${address.hash}`);
    const { page } = visited;
    await page.getByRole('heading', { name: 'Run your first MCP server' }).waitFor();

    await page.goto(other.url);
    await page.waitForFunction(() => document.title === 'fetched');
    const [stolen = ''] = other.cookies;
    const fetchList = `fetch(process.argv[1], { headers: { cookie: process.argv[2], 'sec-fetch-site': 'same-origin' } }).then((r) => console.log(r.status))`;
    const statusFor = async (uid: number): Promise<string> => {
      const { stdout } = await promisify(execFile)(
        '/usr/bin/node',
        ['-e', fetchList, `${address.origin}/api/v1beta/workloads`, stolen],
        { uid, gid: uid },
      );
      return stdout.trim();
    };

    expect(stolen).toMatch(/^toolhive-ui-\d+=/);
    expect([await statusFor(0), await statusFor(nobody)]).toEqual(['200', '401']);
  },
);

const serverOfPages = `
const http = require('node:http');
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'pages', version: '1' } },
  'tools/list': { tools: [] },
};
const page = '<title>quiet</title><h1>Page</h1><script>document.title = "ran"; navigator.serviceWorker.register("/worker.js")</script>';
http.createServer(async (request, response) => {
  if (request.method !== 'POST') {
    const isScript = request.url === '/worker.js';
    return response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' }).end(isScript ? '' : page);
  }
  const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (id === undefined) return response.writeHead(202).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
}).listen(process.env.MCP_PORT);
`;

test('a page that a server sends through its proxy runs no scripts', async () => {
  proves('security.browser.pages');
  await using user = await makeUser();
  const script = join(user.home, 'pages.js');
  await writeFile(script, serverOfPages);
  const words = ['run', '--name', 'pages', '--transport', 'streamable-http', script];
  const { origin } = new URL(/http:\S+/.exec(await user.mustThv(...words))?.[0] ?? '');

  await using visited = await openPage(origin, '/page');
  const { page } = visited;

  await page.getByRole('heading', { name: 'Page' }).waitFor();
  expect(await page.title()).toBe('quiet');
});
