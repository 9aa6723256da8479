import { ThvError } from '@toolhive/contract/failure';
import { Problem } from '@toolhive/contract/problem';
import { expect, test } from 'vitest';
import { aWorkload, openTestApi } from './testing/test-api.ts';
import type { TestApi } from './testing/test-api.ts';

const accept = 'application/problem+json';
const json = { 'content-type': 'application/json' };

/** Sends a request that asks for problem details, and returns them. */
async function problemOf(api: TestApi, method: string, path: string, body?: unknown, headers = {}) {
  const answer = await api.send(
    method,
    path,
    { accept, ...(body === undefined ? {} : json), ...headers },
    typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
  );
  expect(answer.headers['content-type']).toBe('application/problem+json');
  const problem = Problem.parse(JSON.parse(answer.text));
  expect(problem.status).toBe(answer.status);
  return problem;
}

test('an error is plain text by default, and problem details on request', async () => {
  await using api = await openTestApi();

  const plain = await api.get('/api/v1beta/workloads/nothing');
  const problem = await problemOf(api, 'GET', '/api/v1beta/workloads/nothing');

  expect(plain.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(plain.text).toMatch(/^workload nothing not found\n/);
  expect(problem).toMatchObject({
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'workload nothing not found',
    kind: 'not-found',
    hint: 'run thv list --all to see all workloads',
    fixes: [{ label: 'Show all servers', operation: 'listWorkloads' }],
  });
  expect(plain.text).not.toContain('listWorkloads');
});

test.each([
  ['application/json', 'text/plain'],
  ['*/*', 'text/plain'],
  ['application/problem+json;q=0', 'text/plain'],
  ['text/plain, application/problem+json;q=0.5', 'text/plain'],
  ['application/json, application/problem+json;q=0.5', 'application/problem+json'],
  ['text/plain, Application/Problem+JSON', 'application/problem+json'],
])('the header Accept: %s leads to %s', async (header, expected) => {
  await using api = await openTestApi();

  const { headers } = await api.get('/api/v1beta/workloads/nothing', { accept: header });

  expect(String(headers['content-type'])).toContain(expected);
});

test('errors outside of operations are problem details, too', async () => {
  await using api = await openTestApi(
    {},
    { access: () => Promise.reject(new ThvError('unauthorized', 'no token')) },
  );
  await using open = await openTestApi();
  const workloads = '/api/v1beta/workloads';

  const problems = [
    await problemOf(api, 'GET', workloads),
    await problemOf(open, 'GET', '/api/v1beta/nothing'),
    await problemOf(open, 'PUT', workloads, {}),
    await problemOf(open, 'GET', workloads, undefined, { origin: 'https://attacker.example' }),
    await problemOf(open, 'POST', workloads, '{"name":', json),
    await problemOf(open, 'POST', workloads, 'name=echo', { 'content-type': 'text/plain' }),
    await problemOf(open, 'POST', workloads, `"${'a'.repeat(1024 * 1024)}"`),
  ];

  expect(problems.map(({ status, title }) => `${status} ${title}`)).toEqual([
    '401 Unauthorized',
    '404 Not Found',
    '405 Method Not Allowed',
    '403 Forbidden',
    '400 Bad Request',
    '415 Unsupported Media Type',
    '413 Content Too Large',
  ]);
});

test('a bug becomes problem details without its message', async () => {
  await using api = await openTestApi();
  api.core.runtimes.check = () => Promise.reject(new Error('a private detail'));

  const problem = await problemOf(api, 'GET', '/api/v1beta/runtime');

  expect(problem).toEqual({
    type: 'about:blank',
    title: 'Internal Server Error',
    status: 500,
    detail: 'internal server error',
    kind: 'internal',
  });
});

test('each wrong field of a body has a JSON pointer', async () => {
  await using api = await openTestApi();

  const { errors } = await problemOf(api, 'POST', '/api/v1beta/workloads', {
    ...aWorkload(),
    name: 'a..b',
    group: 7,
    env_vars: { 'not/a~name': 'value' },
    secrets: [{ name: 'token' }],
  });

  expect(errors?.map(({ pointer }) => pointer).toSorted()).toEqual([
    '/env_vars/not~1a~0name',
    '/group',
    '/name',
    '/secrets/0/target',
  ]);
  expect(errors?.find(({ pointer }) => pointer === '/name')?.detail).toBe(
    'a workload name cannot contain ..',
  );
});

test('a wrong query parameter is named', async () => {
  await using api = await openTestApi();

  const { errors } = await problemOf(api, 'GET', '/api/v1beta/registry/default/servers?limit=none');

  expect(errors).toEqual([{ parameter: 'limit', detail: expect.stringContaining('number') }]);
});

test.each([
  ['a name that is taken', { name: 'taken' }, '/name'],
  ['a group that does not exist', { group: 'nothing' }, '/group'],
  ['a URL that is not one', { image: '', url: 'ftp://files.example' }, '/url'],
  ['an image that cannot be found', { image: 'ftp://nothing' }, '/image'],
  ['a volume without a target', { volumes: ['/etc:/etc:ro', '/nowhere'] }, '/volumes/1'],
  ['a secret that is not stored', { secrets: [{ name: 'nothing', target: 'TOKEN' }] }, '/secrets/0'],
])('%s is reported with its field', async (_name, changes, pointer) => {
  await using api = await openTestApi();
  await api.run('taken');
  if ('secrets' in changes)
    await api.client.setupSecrets({ body: { provider_type: 'encrypted', password: 'correct horse' } });

  const { detail, errors } = await problemOf(api, 'POST', '/api/v1beta/workloads', {
    ...aWorkload({ name: 'fresh' }),
    ...changes,
  });

  expect(errors).toEqual([{ pointer, detail }]);
});

test('the typed client receives the fields of an error, from a response and from a progress stream', async () => {
  await using api = await openTestApi();
  const body = { name: 'fresh', image: 'echo', group: 'nothing' };
  const message = 'group nothing not found';
  const expected = { kind: 'not-found', message, problems: [{ pointer: '/group', detail: message }] };

  const fromResponse = await api.client.createWorkload({ body }).catch((error: unknown) => error);
  const fromStream = await api.client
    .createWorkload({ body }, { onProgress: () => {} })
    .catch((error: unknown) => error);

  expect(fromResponse).toMatchObject(expected);
  expect(fromStream).toMatchObject(expected);
});

test('a registry that cannot be read is reported with its field', async () => {
  await using api = await openTestApi();

  const { errors } = await problemOf(api, 'PUT', '/api/v1beta/registry/default', {
    local_path: '/nowhere/registry.json',
  });

  expect(errors).toEqual([{ pointer: '/local_path', detail: expect.stringContaining('/nowhere') }]);
});

test('null, and an empty name or group, are as good as nothing', async () => {
  await using api = await openTestApi();
  const request = aWorkload({ name: '', group: '', host: null, proxy_port: null, transport: null });

  const answer = await api.send('POST', '/api/v1beta/workloads', json, JSON.stringify(request));
  const { text } = await api.get('/api/v1beta/workloads?all=true');

  expect(answer).toMatchObject({ status: 201 });
  expect(JSON.parse(text)).toMatchObject({ workloads: [{ group: 'default' }] });
});

test.each([
  [{ image: null, url: null }, /image|url/],
  [{ cmd_arguments: [null] }, /cmd_arguments\.0/],
  [{ group: 'a/b', host: null }, /group: /],
])('null is no value for what is needed, and hides no other problem: %j', async (changes, problem) => {
  await using api = await openTestApi();

  const request = aWorkload(changes);
  const answer = await api.send('POST', '/api/v1beta/workloads', json, JSON.stringify(request));

  expect(answer.status).toBe(400);
  expect(answer.text).toMatch(problem);
});
