import { request } from 'node:http';
import { expect, test } from 'vitest';
import { openTestProxy } from '../testing/test-proxy.ts';

test.each([
  [undefined, 'http://localhost:3000', 200],
  [true, 'http://localhost:3000', 403],
  [true, 'own', 200],
])('with ownOriginOnly %j, a page of %s is answered with %i', async (ownOriginOnly, from, status) => {
  await using proxy = await openTestProxy(ownOriginOnly === undefined ? {} : { ownOriginOnly });
  await proxy.connect();
  const origin = from === 'own' ? proxy.url : from;

  const answer = await fetch(`${proxy.url}/health`, { headers: { origin } });

  expect(answer.status).toBe(status);
});

test.each([
  ['the address that was dialled', '127.0.0.2', '127.0.0.2', 200],
  ['another address', '127.0.0.2', '127.0.0.3', 403],
  ['a name that leads there', '127.0.0.2', 'evil.example', 403],
])('a proxy on every address answers a request for %s', async (_title, dialled, named, status) => {
  await using proxy = await openTestProxy({ host: '0.0.0.0' });
  await proxy.connect();
  const { port } = new URL(proxy.url);

  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = { host: `${named}:${port}` };
  request({ host: dialled, port, path: '/health', headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();

  expect(await promise).toBe(status);
});

const fetched = (site: string, mode: string, destination: string): Record<string, string> => ({
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': destination,
});

test.each([
  ['a picture in a page of another site', fetched('cross-site', 'no-cors', 'image'), 403],
  ['a frame in a page of another site', fetched('cross-site', 'navigate', 'iframe'), 403],
  ['a script of another port, without its origin', fetched('same-site', 'no-cors', 'script'), 403],
  ['a link that the user follows', fetched('cross-site', 'navigate', 'document'), 200],
  ['an address that the user enters', fetched('none', 'navigate', 'document'), 200],
  ['a page of this origin', fetched('same-origin', 'cors', 'empty'), 200],
  ['a program', {}, 200],
])('%s gets the status %3$i', async (_title, headers, status) => {
  await using proxy = await openTestProxy();
  await proxy.connect();

  // Not `fetch`, which sets some of these headers itself.
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(`${proxy.url}/health`, { headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', reject)
    .end();

  expect(await promise).toBe(status);
});
