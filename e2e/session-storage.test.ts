// @suite e2e (in depth)
import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testPort } from '@toolhive/testing/port';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawClient, startInstallation } from './testing/replicas.ts';
import type { Installation, Reply } from './testing/replicas.ts';
import { startStorage } from './testing/session-storage.ts';
import type { StorageServer } from './testing/session-storage.ts';
import { until } from './testing/thv.ts';

const prefix = 'toolhive:tools:echo:uid-1:';
const version = '2025-11-25';
let storage: StorageServer;

beforeAll(async () => {
  storage = await startStorage();
});
afterAll(() => storage[Symbol.asyncDispose]());

/** Proxies that translate for a server of the newest protocol version, so that they hold the sessions of their clients. */
function startProxies(port = storage.port, proxies = 2, more: string[] = []): Promise<Installation> {
  return startInstallation({
    mode: 'modern',
    proxies,
    servers: 1,
    flags: ['--session-storage', `127.0.0.1:${port}`, '--session-storage-prefix', prefix, ...more],
    env: { TOOLHIVE_SESSION_STORAGE_PASSWORD: storage.password },
  });
}

/** Certificates of two authorities. The first one has signed that of the storage. */
async function makeCertificates(folder: string): Promise<{ ca: string; wrong: string; flags: string[] }> {
  const openssl = (...words: string[]) => promisify(execFile)('openssl', words, { cwd: folder });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  for (const name of ['ca', 'wrong'])
    await openssl(
      'req',
      '-x509',
      ...key,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    );
  await openssl(
    'req',
    '-x509',
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    ...key,
    '-subj',
    '/CN=storage',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-addext',
    'basicConstraints=CA:FALSE',
    '-keyout',
    'tls.key',
    '-out',
    'tls.crt',
  );
  const at = (name: string): string => join(folder, name);
  const flags = [
    '--tls-cert-file',
    at('tls.crt'),
    '--tls-key-file',
    at('tls.key'),
    '--tls-ca-cert-file',
    at('ca.crt'),
    '--tls-auth-clients',
    'no',
  ];
  return { ca: at('ca.crt'), wrong: at('wrong.crt'), flags };
}

/** Calls a tool that reports progress and answers after some time, and stops reading after its first event. */
async function callAndDisconnect(client: RawClient, id: number, ms: number): Promise<string> {
  const over = new AbortController();
  const params = { name: 'progress', arguments: { ms }, _meta: { progressToken: `p${id}` } };
  const call = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
  let first = '';
  const onMessage = (): void => over.abort();
  // The next event can arrive in the same piece.
  const onEventId = (eventId: string): void => void (first = over.signal.aborted ? first : eventId);
  await client.send('POST', call, {}, { onEventId, onMessage, signal: over.signal }).catch(() => {});
  return first;
}

const resume = (client: RawClient, last: string): Promise<Reply> =>
  client.send('GET', undefined, { 'last-event-id': last });

/** How many values the storage has of all streams. */
const stored = (): Promise<number> => storedIn(storage);
const storedIn = async (server: StorageServer): Promise<number> =>
  Number(
    (
      await server.script(
        `local n = 0 for _, key in ipairs(redis.call('KEYS', '${prefix}*')) do n = n + redis.call('LLEN', key) end return n`,
      )
    ).slice(1),
  );

test('a client gets the answer that it missed from another proxy after the first one was killed', async () => {
  await storage.send('FLUSHALL');
  await using installation = await startProxies();
  const { balancer, proxies, url } = installation;
  balancer.choose(0);
  const client = await new RawClient(url, version, 'first').open();
  const first = await callAndDisconnect(client, 7, 50);
  await until(async () => (await stored()) === 3); // the beginning, the progress, and the answer
  proxies[0]?.child.kill('SIGKILL');
  balancer.choose(1);

  const missed = await resume(client, first);
  const again = await resume(client, first);

  expect(missed.messages).toMatchObject([{ id: 7, result: { content: [{ type: 'text' }] } }]);
  expect(again.eventIds).toEqual(missed.eventIds);
  expect(await client.told('whoami')).toMatchObject({ client: 'first' });
});

test('a client whose call was lost with its proxy gets an error instead of silence', async () => {
  await storage.send('FLUSHALL');
  await using installation = await startProxies();
  const { balancer, proxies, url } = installation;
  balancer.choose(0);
  const client = await new RawClient(url, version, 'lost').open();
  const first = await callAndDisconnect(client, 8, 60_000);
  await until(async () => (await stored()) === 2);
  proxies[0]?.child.kill('SIGKILL');
  balancer.choose(1);

  const { messages } = await resume(client, first);

  expect(messages).toMatchObject([
    { id: 8, error: { message: expect.stringContaining('has ended') as unknown } },
  ]);
});

test('the storage knows no texts, and values in another place are no events', async () => {
  await storage.send('FLUSHALL');
  await using installation = await startProxies(storage.port, 3);
  const { balancer, proxies, url } = installation;
  balancer.choose(0);
  const clients = await Promise.all(['one', 'two'].map((name) => new RawClient(url, version, name).open()));
  const events: string[] = [];
  for (const client of clients) events.push(await callAndDisconnect(client, 9, 50));
  await until(async () => (await stored()) === 6);
  const dump = await storage.script(
    `local all = {} for _, key in ipairs(redis.call('KEYS', '*')) do all[#all + 1] = key for _, value in ipairs(redis.call('LRANGE', key, 0, -1)) do all[#all + 1] = value end end return all`,
  );
  // Each stream gets the values of the other one, and values of another program.
  await storage.script(
    `local keys = redis.call('KEYS', '*') redis.call('RENAME', keys[1], 'x') redis.call('RENAME', keys[2], keys[1]) redis.call('RENAME', 'x', keys[2]) for _, key in ipairs(keys) do redis.call('RPUSH', key, 'foreign', '', string.rep('A', 3000000)) end`,
  );
  proxies[0]?.child.kill('SIGKILL');
  balancer.choose(1);

  const replies = await Promise.all(clients.map((client, at) => resume(client, events[at] ?? '')));
  await storage.script(`for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('SET', key, 'text') end`);
  const wrongType = await resume(clients[0] as RawClient, events[0] ?? '');

  expect(dump).toContain(prefix);
  expect(dump).not.toMatch(/progress|whoami|one|two|jsonrpc|elicitation/);
  expect([...replies, wrongType].map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(await clients[0]?.told('whoami')).toMatchObject({ client: 'one' });
});

test('what a client has set up continues at another proxy', async () => {
  await storage.send('FLUSHALL');
  await using installation = await startProxies();
  const { balancer, proxies, url } = installation;
  balancer.choose(0);
  const client = await new RawClient(url, version, 'set up').open();
  await client.post({ id: 1, method: 'logging/setLevel', params: { level: 'debug' } });
  await until(async () => (await stored()) === 1);

  proxies[0]?.child.kill('SIGKILL');
  balancer.choose(1);

  await until(async () => (await client.told('whoami'))['level'] === 'debug');
  expect((await client.told('whoami'))['client']).toBe('set up');
});

const faults: ((other: StorageServer) => unknown)[] = [
  async (other) => {
    await other.send('CONFIG', 'SET', 'requirepass', 'another');
    other.password = 'another';
    await other.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  },
  (other) => other.send('CONFIG', 'SET', 'maxmemory', '1'),
  (other) => other.signal('SIGSTOP'),
  (other) => other.signal('SIGKILL'),
];

test.each([
  ['refuses the password', 0],
  ['is full', 1],
  ['hangs', 2],
  ['has ended', 3],
])('proxies serve their clients while the storage %s', async (_, at) => {
  await using other = await startStorage();
  await using installation = await startProxies(other.port);
  const { balancer, proxies, url } = installation;
  await faults[at]?.(other);
  balancer.choose(0);
  const client = await new RawClient(url, version, 'served').open();

  const answers = [
    await client.told('whoami'),
    await client.call('progress', { ms: 1 }, { _meta: { progressToken: 1 } }),
  ];
  proxies[0]?.child.kill('SIGKILL');
  balancer.choose(1);
  const { status } = await resume(client, 'r1_1');

  expect(answers).toMatchObject([{ client: 'served' }, { status: 200 }]);
  expect(status).toBe(404);
  expect(await client.told('whoami')).toMatchObject({ client: 'served' });
});

test('a storage that comes back is used again, and a proxy says when it does not answer', async () => {
  const first = await startStorage();
  await using installation = await startProxies(first.port, 1);
  const [proxy] = installation.proxies;
  const says = (text: string): boolean =>
    proxy?.lines().some(({ msg }) => String(msg).startsWith(text)) === true;
  await until(() => says('session storage answers'));

  await first[Symbol.asyncDispose]();
  const client = await new RawClient(installation.url, version, 'patient').open();
  await client.call('progress', { ms: 1 }, { _meta: { progressToken: 1 } });
  await until(() => says('session storage does not answer'));
  await using again = await startStorage(first.port);
  await until(async () => {
    await client.call('progress', { ms: 1 }, { _meta: { progressToken: 1 } });
    return (await again.send('DBSIZE')) !== ':0\r\n';
  });

  expect(JSON.stringify(proxy?.lines())).not.toContain(storage.password);
});

describe('rate limits', () => {
  const limits = {
    shared: { maxTokens: 10, refillMs: 3_600_000 },
    tools: { slow: { shared: { maxTokens: 2, refillMs: 3_600_000 } } },
  };

  function startLimited(port: number): Promise<Installation> {
    return startInstallation({
      proxies: 2,
      servers: 1,
      flags: [
        '--session-storage',
        `127.0.0.1:${port}`,
        '--session-storage-prefix',
        prefix,
        '--rate-limits',
        JSON.stringify(limits),
      ],
      env: { TOOLHIVE_SESSION_STORAGE_PASSWORD: storage.password },
    });
  }

  /** The statuses of calls that are sent at once, to both proxies in turn. */
  async function statusesOf(
    { proxies }: Installation,
    count: number,
    tool = 'whoami',
  ): Promise<Record<string, number>> {
    const clients = await Promise.all(
      proxies.map(({ url }) => new RawClient(new URL(url), '2025-06-18', 'one').open()),
    );
    const replies = await Promise.all(
      Array.from({ length: count }, async (_, at) => clients[at % 2]?.call(tool, { ms: 1 })),
    );
    return Object.fromEntries(
      Object.entries(Object.groupBy(replies, (reply) => String(reply?.status))).map(([status, all]) => [
        status,
        all?.length ?? 0,
      ]),
    );
  }

  test('several proxies let exactly as many calls pass as the limit says', async () => {
    await storage.send('FLUSHALL');
    await using installation = await startLimited(storage.port);

    const slow = await statusesOf(installation, 4, 'slow');
    const all = await statusesOf(installation, 30);

    expect([slow, all]).toEqual([
      { 200: 2, 429: 2 },
      { 200: 8, 429: 22 },
    ]);
  });

  test('foreign values neither close nor widen a limit for good', async () => {
    await storage.send('FLUSHALL');
    await using installation = await startLimited(storage.port);
    await statusesOf(installation, 1);
    const poison = async (tokens: string, at: string): Promise<void> => {
      await storage.script(
        `for _, key in ipairs(redis.call('KEYS', '${prefix}limit:*')) do redis.call('DEL', key) redis.call('HSET', key, 'tokens', '${tokens}', 'at', '${at}') end`,
      );
    };

    const counts = [];
    for (const [tokens, at] of [
      ['-1e300', '9e15'],
      ['1e300', '0'],
      ['nan', 'inf'],
      ['x', ''],
    ] as const) {
      await poison(tokens, at);
      counts.push((await statusesOf(installation, 20))['200']);
    }
    await storage.script(
      `for _, key in ipairs(redis.call('KEYS', '${prefix}limit:*')) do redis.call('SET', key, 'text') end`,
    );
    counts.push((await statusesOf(installation, 20))['200']);

    expect(counts).toEqual([10, 10, 10, 10, 10]);
  });

  test('each proxy has the limit for itself while the storage does not answer, and says so', async () => {
    await using other = await startStorage();
    await using installation = await startLimited(other.port);
    other.signal('SIGKILL');

    const counts = await statusesOf(installation, 30);

    expect(counts).toEqual({ 200: 20, 429: 10 });
    for (const proxy of installation.proxies)
      expect(proxy.lines().some(({ msg }) => String(msg).startsWith('session storage does not answer'))).toBe(
        true,
      );
  });
});

describe('a storage with TLS', () => {
  let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  let encrypted: StorageServer;
  let certificates: Awaited<ReturnType<typeof makeCertificates>>;
  let tlsPort: number;
  beforeAll(async () => {
    folder = await mkdtempDisposable(join(tmpdir(), 'thv-storage-tls-'));
    certificates = await makeCertificates(folder.path);
    tlsPort = await testPort();
    encrypted = await startStorage(undefined, ['--tls-port', String(tlsPort), ...certificates.flags]);
  });
  afterAll(async () => {
    await encrypted?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });
  const reasons = ({ proxies }: Installation): unknown[] =>
    (proxies[0]?.lines() ?? [])
      .filter(({ msg }) => String(msg).startsWith('session storage does not answer'))
      .map(({ reason }) => reason);

  test('keeps the events of sessions if its certificate is from the given authority', async () => {
    await using installation = await startProxies(tlsPort, 2, ['--session-storage-tls', certificates.ca]);
    const { balancer, proxies, url } = installation;
    balancer.choose(0);
    const client = await new RawClient(url, version, 'encrypted').open();
    const first = await callAndDisconnect(client, 9, 50);
    await until(async () => (await storedIn(encrypted)) === 3);
    proxies[0]?.child.kill('SIGKILL');
    balancer.choose(1);

    const missed = await resume(client, first);

    expect(missed.messages).toMatchObject([{ id: 9, result: { content: [{ type: 'text' }] } }]);
    expect(reasons(installation)).toEqual([]);
  });

  test.each([
    [
      'another authority',
      () => certificates.wrong,
      /certificate of the session storage is not trusted .*: set sessionStorage\.tls\.caRef/,
    ],
    [
      'the authorities of the system',
      () => 'system',
      /certificate of the session storage is not trusted .*: set sessionStorage\.tls\.caRef/,
    ],
  ])(
    'is not used with a certificate that %s did not sign, and clients are served',
    async (_, tls, reason) => {
      await using installation = await startProxies(tlsPort, 1, ['--session-storage-tls', tls()]);
      const client = await new RawClient(installation.url, version, 'distrusting').open();

      await until(() => reasons(installation).length > 0);

      expect(reasons(installation)).toEqual([expect.stringMatching(reason)]);
      expect(await client.told('whoami')).toMatchObject({ client: 'distrusting' });
    },
  );

  test('that has no TLS, and TLS without the setting, are told apart from a storage that is down', async () => {
    await using plain = await startProxies(encrypted.port, 1, ['--session-storage-tls', certificates.ca]);
    await using without = await startProxies(tlsPort, 1);

    await until(() => reasons(plain).length > 0 && reasons(without).length > 0);

    expect(reasons(plain)).toEqual([expect.stringMatching(/does not speak TLS/)]);
    expect(reasons(without)).toEqual([expect.stringMatching(/requires TLS \(sessionStorage\.tls\)/)]);
  });
});
