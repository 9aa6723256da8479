import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { createApi } from './api.ts';
import { aWorkload, openTestApi } from './testing/test-api.ts';

const base = '/api/v1beta';

describe('the system', () => {
  test('is healthy at the root and under the base when servers can run', async () => {
    proves('api.health', 'api.base');
    await using api = await openTestApi();

    const answers = await Promise.all([api.get('/health'), api.get(`${base}/health`)]);

    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [204, ''],
      [204, ''],
    ]);
  });

  test('says what is missing when nothing can run', async () => {
    proves('api.health.none');
    const report = {
      runtime: 'process' as const,
      available: false,
      detail: 'bwrap is not installed',
      hint: 'install it',
      limits: [],
    };
    const capabilities = { runs: 'packages' };
    const calls = { check: async () => report, sweep: async () => {} };
    const runtime = { name: 'process' as const, capabilities, ...calls } as never;
    await using api = await openTestApi({ runtimes: () => [runtime] });

    const answer = await api.get('/health');

    expect(answer.status).toBe(503);
    expect(answer.text).toBe('no server can run on this machine: bwrap is not installed\nhint: install it\n');
  });

  test('tells its version', async () => {
    proves('api.version');
    await using api = await openTestApi();

    expect((await api.get(`${base}/version`)).json).toEqual({ version: 'v0.0.0-test' });
  });

  test('describes itself as OpenAPI 3.1', async () => {
    proves('api.openapi');
    await using api = await openTestApi();

    const { json } = await api.get('/api/openapi.json');

    expect(json).toMatchObject({
      openapi: '3.1.0',
      paths: { [`${base}/workloads`]: { get: {}, post: {} }, '/api/openapi.json': { get: {} } },
    });
  });

  test('does not let a TCP caller stop the daemon', async () => {
    await using api = await openTestApi();

    expect((await api.post(`${base}/hive/stop`)).status).toBe(404);
    expect((await api.get(`${base}/hive`)).json).toEqual({
      pid: process.pid,
      background: false,
      started_at: api.core.startedAt,
      features: [], // not `stop`
    });
  });
});

describe('a workload', () => {
  test('is created, listed, described and removed', async () => {
    proves(
      'api.workloads.create',
      'api.workloads.list',
      'api.workloads.get',
      'api.workloads.fields',
      'api.workloads.delete',
    );
    await using api = await openTestApi();

    const created = await api.post(`${base}/workloads`, aWorkload());
    await api.core.workloads.require('echo').follow(() => {});
    const { json: listed } = await api.get(`${base}/workloads`);
    const { json: described } = await api.get(`${base}/workloads/echo`);
    const removed = await api.delete(`${base}/workloads/echo`);

    const { port } = created.json as { port: number };
    expect([created.status, created.json]).toEqual([201, { name: 'echo', port }]);
    expect(listed).toEqual({
      workloads: [
        {
          name: 'echo',
          package: 'npx://toolhive-test-servers@1.0.0',
          url: `http://127.0.0.1:${port}/mcp`,
          port,
          tool_type: 'mcp',
          transport_type: 'stdio',
          proxy_mode: 'streamable-http',
          status: 'running',
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          labels: {},
          group: 'default',
          tools: [],
          remote: false,
          protocol: 'legacy',
          runtime: 'memory',
          session_processes: expect.stringContaining('a process for each session'),
          warnings: ['nothing is isolated'],
          limits: ['nothing is isolated'],
          access: { files: 'none', network: 'public', secrets: 0 },
          resources: { memory: 2 * 1024 ** 3, cpus: 2, pids: 512, disk: 2 * 1024 ** 3, open_files: 4096 },
        },
      ],
    });
    expect(described).toMatchObject({
      name: 'echo',
      image: 'npx://toolhive-test-servers@1.0.0',
      cmd_arguments: ['echo'],
      proxy_port: port,
    });
    expect([removed.status, removed.text]).toEqual([202, '']);
  });

  test('is stopped and restarted, and keeps its port', async () => {
    proves('api.workloads.stop', 'api.workloads.restart', 'api.workloads.status', 'port.stable');
    await using api = await openTestApi();
    await api.run('echo');
    const { port } = api.core.workloads.require('echo').runConfig;

    const stopped = await api.post(`${base}/workloads/echo/stop`, undefined, ndjson);
    const between = await api.get(`${base}/workloads/echo/status`);
    const restarted = await api.post(`${base}/workloads/echo/restart`, undefined, ndjson);
    const after = await api.get(`${base}/workloads/echo`);

    expect(stopped.text).toBe('{"progress":"stopping echo"}\n{"result":null}\n');
    expect(between.json).toEqual({ status: 'stopped' });
    expect(restarted.text.trimEnd().split('\n').at(-1)).toBe('{"result":null}');
    expect(after.json).toMatchObject({ status: 'running', port });
  });

  test('is not listed while it does not run, unless all are asked for', async () => {
    proves('api.workloads.list');
    await using api = await openTestApi();
    await api.run('echo');
    await api.post(`${base}/workloads/echo/stop`, undefined, ndjson);

    const running = await api.get(`${base}/workloads`);
    const all = await api.get(`${base}/workloads?all=true`);

    expect(running.json).toEqual({ workloads: [] });
    expect(all.json).toMatchObject({ workloads: [{ name: 'echo', status: 'stopped' }] });
  });

  test('is listed with its group only', async () => {
    proves('api.workloads.group');
    await using api = await openTestApi();
    await api.run('echo');

    const own = await api.get(`${base}/workloads?group=default`);
    await api.post(`${base}/groups`, { name: 'empty' });
    const empty = await api.get(`${base}/workloads?group=empty`);
    const unknown = await api.get(`${base}/workloads?group=other`);

    expect(own.json).toMatchObject({ workloads: [{ name: 'echo' }] });
    expect(empty.json).toEqual({ workloads: [] });
    expect([unknown.status, unknown.text]).toEqual([404, expect.stringContaining('group other not found')]);
  });

  test('gives at most a hundred lines of what its server wrote', async () => {
    proves('api.workloads.logs');
    await using api = await openTestApi();
    await api.run('talker', 'chatty');

    const { status, headers, text } = await api.get(`${base}/workloads/talker/logs`);

    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text.trimEnd().split('\n')).toHaveLength(100);
  });

  test('reports its way to running when asked for as a stream', async () => {
    await using api = await openTestApi();

    const { text } = await api.post(`${base}/workloads`, aWorkload(), ndjson);

    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines.some((line) => 'progress' in line)).toBe(true);
    expect(lines.filter((line) => 'accepted' in line)).toEqual([
      { accepted: { name: 'echo', port: expect.any(Number) } },
    ]);
    expect(lines.at(-1)).toEqual({ result: { name: 'echo', port: expect.any(Number) } });
  });
});

describe('a mistake', () => {
  test.each([
    ['a name that climbs', { name: '../x' }, /a workload name/],
    ['a transport that is none', { transport: 'carrier-pigeon' }, /is not a transport/],
    ['a proxy mode that is none', { proxy_mode: 'loud' }, /is not a proxy mode/],
    ['a port out of range', { proxy_port: 70_000 }, /proxy_port/],
    ['a volume without a target', { volumes: ['/tmp'] }, /is not a volume/],
    ['a missing volume', { volumes: ['/no/such/folder:/x'] }, /does not exist/],
    ['a relative volume', { volumes: ['here:/x'] }, /is not an absolute path/],
    ['a variable with an odd name', { env_vars: { 'A B': '1' } }, /env_vars/],
    ['a bad image reference', { image: 'Not An Image' }, /is not an image reference/],
    ['an unknown scheme', { image: 'ftp://x' }, /unknown scheme/],
    ['nothing to run', { image: undefined }, /nothing to run/],
  ])('is answered with 400 and what is wrong: %s', async (_title, changes, message) => {
    proves('api.errors.400', 'api.errors.plain-text', 'bad.name');
    await using api = await openTestApi();

    const answer = await api.post(`${base}/workloads`, aWorkload(changes));

    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(answer.text).toMatch(message);
    expect(api.core.workloads.all()).toEqual([]);
  });

  test('in an exported run config is answered with 400', async () => {
    await using api = await openTestApi();
    await api.run('echo');
    const { json } = await api.get(`${base}/workloads/echo/export`);

    const runConfig = { ...(json as object), name: 'other', cmd_args: ['a\0b'] };
    const answer = await api.post(`${base}/workloads`, runConfig);

    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('cmd_args.0: contains a NUL'),
    ]);
    expect(api.core.workloads.all().length).toBe(1);
  });

  test.each([
    [400, 'it has its own network', { target_host: 'elsewhere.example' }],
    [400, 'not a JSON object', { k8s_pod_template_patch: '[]' }],
  ])('is refused rather than ignored, with status %i because %s', async (status, reason, changes) => {
    proves('bad.unenforced');
    await using api = await openTestApi();

    const answer = await api.post(`${base}/workloads`, aWorkload(changes));

    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(reason)]);
  });

  test('in the group is answered with 404', async () => {
    await using api = await openTestApi();

    const answer = await api.post(`${base}/workloads`, aWorkload({ group: 'nobody' }));

    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('group nobody not found')]);
  });

  test('in the source is answered with 404, and nothing is left', async () => {
    proves('bad.unknown-source');
    await using api = await openTestApi();

    const answer = await api.post(`${base}/workloads`, aWorkload({ image: 'npx://no-such-package' }));

    expect([answer.status, answer.text.trim()]).toEqual([404, 'npx://no-such-package not found']);
    expect((await api.get(`${base}/workloads?all=true`)).json).toEqual({ workloads: [] });
  });

  test('in a name that is taken is answered with 409', async () => {
    proves('api.errors.409');
    await using api = await openTestApi();
    await api.run('echo');

    const answer = await api.post(`${base}/workloads`, aWorkload());

    expect([answer.status, answer.text.split('\n')[0]]).toEqual([409, 'workload echo already exists']);
  });

  test('in a port that is taken is answered with 400', async () => {
    proves('bad.port');
    await using api = await openTestApi();

    const answer = await api.post(`${base}/workloads`, aWorkload({ proxy_port: api.port }));

    expect([answer.status, answer.text.split('\n')[0]]).toEqual([400, `port ${api.port} is in use`]);
  });

  test.each([
    ['GET', '/workloads/nobody'],
    ['GET', '/workloads/nobody/status'],
    ['GET', '/workloads/nobody/logs'],
    ['POST', '/workloads/nobody/stop'],
    ['POST', '/workloads/nobody/restart'],
    ['DELETE', '/workloads/nobody'],
    ['GET', '/nothing/here'],
  ])('in the path is answered with 404: %s %s', async (method, path) => {
    proves('api.errors.404');
    await using api = await openTestApi();

    const answer = await api.send(method, `${base}${path}`, { 'content-type': 'application/json' });

    expect([answer.status, answer.text.split('\n')[0]]).toEqual([404, expect.stringMatching(/not found$/)]);
  });

  test.each(['..%2Fx', '%2Fetc', 'a%00b', 'a;b', 'n'.repeat(101)])(
    'in a name is answered with 400: %s',
    async (name) => {
      await using api = await openTestApi();

      const answers = await Promise.all([
        api.get(`${base}/workloads/${name}`),
        api.post(`${base}/workloads/${name}/stop`),
        api.delete(`${base}/workloads/${name}`),
      ]);

      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    },
  );

  test('in the method is answered with 405', async () => {
    proves('api.errors.405');
    await using api = await openTestApi();

    expect(
      (await api.send('PUT', `${base}/workloads/echo`, { 'content-type': 'application/json' })).status,
    ).toBe(405);
  });

  test.each([
    ['no JSON', '{"name": ', 400, 'the body is not JSON'],
    ['nothing at all', '', 400, 'the body is missing'],
    ['a list', '[]', 400, 'Invalid input: expected object, received array'],
    [
      'deep nesting',
      `{"image":"x","a":${'['.repeat(100)}${']'.repeat(100)}}`,
      400,
      'the body nests deeper than 32 levels',
    ],
    [
      'too much',
      JSON.stringify({ image: 'x'.repeat(1_100_000) }),
      413,
      'the body is larger than 1048576 bytes',
    ],
  ])('in the body is answered with what is wrong: %s', async (_title, body, status, message) => {
    await using api = await openTestApi();

    const answer = await api.send('POST', `${base}/workloads`, { 'content-type': 'application/json' }, body);

    expect([answer.status, answer.text.split('\n')[0]]).toEqual([status, message]);
  });

  test('of the daemon itself is answered with 500 and nothing of it', async () => {
    proves('api.errors.500');
    await using api = await openTestApi();
    const { workloads } = api.core;
    Object.defineProperty(workloads, 'all', { value: () => JSON.parse('secret: hunter2') as never });

    const answer = await api.get(`${base}/workloads`);

    expect([answer.status, answer.text]).toEqual([500, 'internal server error\n']);
  });

  test('that the machine has caused is answered with the problem and the fix', async () => {
    await using api = await openTestApi();
    Object.defineProperty(api.core.workloads, 'all', {
      value: () => {
        throw Object.assign(new Error('raw'), { code: 'EMFILE', syscall: 'open', path: '/state/index.json' });
      },
    });

    const answer = await api.get(`${base}/workloads`);

    expect([answer.status, answer.text]).toEqual([
      503,
      expect.stringMatching(
        /^cannot open .state.index.json: the daemon has too many open files\nhint: raise /,
      ),
    ]);
  });
});

describe('a web page', () => {
  test.each([
    ['a foreign host (DNS rebinding)', { host: 'evil.example:8080' }],
    ['a foreign origin', { origin: 'https://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://localhost:1' }],
    [
      'another site, without saying its origin',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ],
    ['the same site, without saying its origin', { 'sec-fetch-site': 'same-site' }],
    ['a frame', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  ])('is refused when it comes from %s', async (_title, headers) => {
    proves('api.host-origin');
    await using api = await openTestApi();

    const answers = await Promise.all([
      api.get(`${base}/workloads`, headers),
      api.get('/health', headers),
      api.get('/api/openapi.json', headers),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])(
    'cannot write with a form: %s',
    async (type) => {
      proves('api.json-only');
      await using api = await openTestApi();
      await api.run('echo');

      const answers = await Promise.all([
        api.send('POST', `${base}/workloads`, { 'content-type': type }, '{}'),
        api.send('POST', `${base}/workloads/echo/stop`, { 'content-type': type }, 'a=b'),
        api.send('DELETE', `${base}/workloads/echo`, {
          'content-type': type,
          'transfer-encoding': 'chunked',
        }),
      ]);

      expect(answers.map(({ status }) => status)).toEqual([415, 415, 415]);
    },
  );

  test.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site' },
  ])('cannot write without a body: %j', async (headers) => {
    await using api = await openTestApi();
    await api.run('echo');

    const answers = await Promise.all([
      api.send('POST', `${base}/workloads/echo/stop`, headers),
      api.send('DELETE', `${base}/workloads/echo`, headers),
    ]);

    expect(answers.map(({ status }) => status)).toEqual([403, 403]);
    expect(api.core.workloads.require('echo').condition.status).toBe('running');
  });

  test('may link to what can be read', async () => {
    await using api = await openTestApi();

    const { status } = await api.get('/api/openapi.json', {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    });

    expect(status).toBe(200);
  });

  test('that makes many requests does not use up those of the user', async () => {
    await using api = await openTestApi();
    const app = createApi(api.core, { listener: { host: 'localhost', port: 80 } });
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await app.request('http://localhost/health', { headers: { host: 'localhost', ...headers } })).status;

    const flood = Array.from({ length: 20_000 }, () => ask({ origin: 'https://evil.example' }));

    // An answer of 429 would tell that they count.
    expect(new Set(await Promise.all(flood))).toEqual(new Set([403]));
  });
});

describe('a program', () => {
  test('can write without a body and without its type', async () => {
    await using api = await openTestApi();
    await api.run('echo');

    const answers = [
      await api.send('POST', `${base}/workloads/echo/stop`, {}),
      await api.send('POST', `${base}/workloads/echo/restart`, { 'content-length': '0' }),
      await api.send('DELETE', `${base}/workloads/echo`, {}),
    ];

    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  });
});

describe('an answer', () => {
  test('is never told that others may read an answer', async () => {
    await using api = await openTestApi();

    const { headers } = await api.get(`${base}/workloads`, { origin: `http://127.0.0.1:${api.port}` });

    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' });
  });
});

const ndjson = { 'content-type': 'application/json', accept: 'application/x-ndjson' };
