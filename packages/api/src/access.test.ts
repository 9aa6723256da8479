import { request } from 'node:http';
import { openAccess } from '@toolhive/access/access';
import { Hono } from 'hono';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { failureResponse } from './failures.ts';
import { rateLimit } from './guards.ts';
import { openTestApi } from './testing/test-api.ts';

const token = 'a-token-of-enough-letters';

test('a fixed token opens everything, and nothing opens without it', async () => {
  await using api = await openTestApi({}, { access: openAccess({ token }) });

  const paths = ['/health', '/api/v1beta/health', '/api/v1beta/workloads', '/api/openapi.json', '/nowhere'];
  const without = await Promise.all(paths.map((path) => api.get(path)));
  const wrong = await api.get('/api/v1beta/workloads', { authorization: `Bearer ${token}x` });
  const right = await api.get('/api/v1beta/workloads', { authorization: `bearer ${token}` });

  expect(without.map(({ status }) => status)).toEqual(paths.map(() => 401));
  expect(without[0]?.headers['www-authenticate']).toBe('Bearer realm="toolhive"');
  expect([wrong.status, right.status]).toEqual([401, 200]);
});

test('an API for other machines answers at the address that they dial, and to no name but its own', async () => {
  await using api = await openTestApi({}, { host: '0.0.0.0', access: openAccess({ token }) });
  const ask = async (host: string): Promise<number> => {
    const headers = { host, authorization: `Bearer ${token}` };
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const options = { host: '127.0.0.2', port: api.port, path: '/health', headers };
    request(options, ({ statusCode = 0 }) => resolve(statusCode))
      .on('error', reject)
      .end();
    return promise;
  };

  const dialled = await ask(`127.0.0.2:${api.port}`);
  const others = [await ask('127.0.0.3'), await ask('rebound.example')];

  expect(dialled).toBe(204);
  expect(others).toEqual([403, 403]);
});

test('more requests than any honest client sends are refused, until some time has passed', async () => {
  let now = 0;
  const app = new Hono();
  app.onError((error) => failureResponse(error, pino({ level: 'silent' }), undefined));
  app.use(rateLimit(() => now));
  app.get('/', (context) => context.body(null, 204));
  const ask = async (): Promise<Response> => app.request('/');

  for (let n = 0; n < 2_000; n++) expect((await ask()).status).toBe(204);
  const refused = await ask();
  now = 10;
  const later = await Promise.all(Array.from({ length: 11 }, ask));

  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(later.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 204), 429]);
});
