import { describe, expect, test } from 'vitest';
import { RawSession, type Received, answerOf, postModern, readEvents } from './testing/test-proxy.ts';
import { type Said, type ScriptedServer, openScriptedProxy } from './testing/scripted-server.ts';

const skills = 'io.modelcontextprotocol/skills';
const uris = ['skill://open/SKILL.md', 'skill://shut/SKILL.md'];
const skillAt = (uri: string) => ({
  uri,
  frontmatter: { name: uri.split('/')[2], description: 'does something' },
  resources: [{ uri, digest: `sha256:${'0'.repeat(64)}` }],
});
const offered = { resources: {}, extensions: { [skills]: { directoryRead: true } } };

const answers = {
  'skills/list': () => ({ skills: uris.map(skillAt) }),
  'skills/get': (_server: ScriptedServer, { params }: Said) => ({ skill: skillAt(String(params?.['uri'])) }),
  'resources/directory/read': () => ({ resources: uris.map((uri) => ({ uri, name: 'SKILL.md' })) }),
};
const legacy = {
  ...answers,
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: offered,
    serverInfo: { name: 'teacher', version: '1' },
  }),
};
const modern = {
  ...answers,
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities: offered,
    serverInfo: { name: 'teacher', version: '1' },
    ttlMs: 0,
    cacheScope: 'private',
  }),
  initialize: (server: ScriptedServer, { id }: Said) => {
    server.send({ id, error: { code: -32_601, message: 'no initialize' } });
    return undefined;
  },
};
const servers = { legacy, modern };

/** What a test looks at in an answer. */
interface Answered {
  result: { skills?: unknown; skill?: unknown; resources?: unknown; id?: unknown };
  error: { code?: number };
}

/** Asks as a client of one version does. */
async function client(
  url: string,
  version: string,
): Promise<(method: string, params?: object) => Promise<Answered>> {
  const session =
    version === '2026-07-28' ? undefined : await RawSession.open(url, { protocolVersion: version });
  return async (method, params = {}) => {
    const response = session?.post({ id: 7, method, params }) ?? postModern(url, method, { ...params });
    return (await answerOf(await response)) as unknown as Answered;
  };
}

describe.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
  'a client of %s',
  (version) => {
    describe.each(['legacy', 'modern'] as const)('of a %s server', (generation) => {
      test('has its skills', async () => {
        await using proxy = await openScriptedProxy({}, servers[generation]);
        const ask = await client(proxy.url, version);

        expect((await ask('skills/list')).result.skills).toEqual(uris.map(skillAt));
        expect((await ask('skills/get', { uri: uris[1] })).result.skill).toEqual(skillAt(uris[1]!));
        expect(
          (await ask('resources/directory/read', { uri: 'skill://shut' })).result.resources,
        ).toHaveLength(2);
      });

      test('has the skills that a policy allows', async () => {
        const authorizer = { isAllowed: ({ target }: { target: string }) => target.includes('open') };
        await using proxy = await openScriptedProxy({ authorizer }, servers[generation]);
        const ask = await client(proxy.url, version);

        expect((await ask('skills/list')).result.skills).toEqual([skillAt(uris[0]!)]);
        expect((await ask('skills/get', { uri: uris[0] })).result.skill).toEqual(skillAt(uris[0]!));
        expect((await ask('skills/get', { uri: uris[1] })).error).toMatchObject({
          code: 403,
          data: {
            _meta: { 'io.toolhive/denial': { reason: 'policy', action: 'get_skill', target: uris[1] } },
          },
        });
        expect((await ask('resources/directory/read', { uri: 'skill://shut' })).error.code).toBe(403);
        const listed = await ask('resources/directory/read', { uri: 'skill://open' });
        expect(listed.result.resources).toEqual([{ uri: uris[0], name: 'SKILL.md' }]);
      });

      test('passes unknown methods if there is no policy', async () => {
        const own = {
          ...servers[generation],
          'payments/start': () => ({ resultType: 'complete', id: 'p1' }),
        };
        await using proxy = await openScriptedProxy({}, own);
        const ask = await client(proxy.url, version);

        expect((await ask('payments/start')).result).toMatchObject({ id: 'p1' });
      });
    });
  },
);

test('a modern client learns how long a list of skills of a legacy server may be kept', async () => {
  await using proxy = await openScriptedProxy({}, legacy);

  const { result } = await answerOf(await postModern(proxy.url, 'skills/list'));

  expect(result).toMatchObject({ ttlMs: 0, cacheScope: 'private', resultType: 'complete' });
});

test('the audit log and the list of calls name the skill that a client gets', async () => {
  const audited: unknown[] = [];
  const ended: unknown[] = [];
  const calls = {
    component: 'w',
    isRecorded: () => true,
    requestData: false,
    responseData: false,
    maxBytes: 0,
  };
  const audit = {
    record: ({ target }: { target?: unknown }) => void audited.push(target),
    calls,
    localUser: 'ada',
    trustsProxyHeaders: false,
  };
  const traffic = { recordsBodies: false, record: (call: object) => ended.push(call) };
  await using proxy = await openScriptedProxy({ audit, traffic, workload: 'w' }, modern);
  const uri = uris[0]!;

  await answerOf(await postModern(proxy.url, 'skills/get', { uri }));

  await expect.poll(() => [audited.length, ended.length]).toEqual([1, 1]);
  expect(audited).toMatchObject([{ method: 'skills/get', type: 'skill', name: uri }]);
  expect(ended).toMatchObject([{ method: 'skills/get', kind: 'skill', name: uri, outcome: 'ok' }]);
});

test.each([
  [{}, undefined],
  [{ 'mcp-name': 'skill://open/SKILL.md' }, undefined],
  [{ 'mcp-name': 'skill://shut/SKILL.md' }, -32_020],
])('Mcp-Name may be missing in requests of extensions, but not wrong: %j', async (headers, code) => {
  await using proxy = await openScriptedProxy({}, modern);

  const params = { uri: 'skill://open/SKILL.md' };
  const { error } = await answerOf(await postModern(proxy.url, 'skills/get', params, { headers }));

  expect(error?.code).toBe(code);
});

test('a legacy client can open the URL that a modern server asks for', async () => {
  const asking = { mode: 'url', url: 'https://example.com/sign-in', message: 'Sign in' };
  await using proxy = await openScriptedProxy(
    {},
    {
      ...modern,
      'tools/call': (_server: ScriptedServer, { params }: Said) =>
        params?.['inputResponses'] === undefined
          ? {
              resultType: 'input_required',
              inputRequests: { q1: { method: 'elicitation/create', params: asking } },
            }
          : {
              resultType: 'complete',
              content: [{ type: 'text', text: JSON.stringify(params['inputResponses']) }],
            },
    },
  );
  const session = await RawSession.open(proxy.url, { capabilities: { elicitation: { url: {} } } });

  const events = readEvents(await session.postCall(7, 'sign-in'));
  const { value: asked } = await events.next();
  await session.post({ id: asked.id, result: { action: 'accept' } });
  const { value: answer } = await events.next();

  expect(asked).toMatchObject({
    method: 'elicitation/create',
    params: { ...asking, elicitationId: expect.stringMatching(/^[\da-f-]{36}$/) },
  });
  expect(answer.result).toEqual({ content: [{ type: 'text', text: '{"q1":{"action":"accept"}}' }] });
});

test.each([
  '{"resultType":"complete","content":[],"n":12345678901234567890}',
  '{ "content" : [] , "n":12345678901234567890, "resultType" : "complete" }',
  '{"content":[], "resultType":"complete" ,"n":12345678901234567890}',
])(
  'a legacy client gets the result of a modern server without its type, and otherwise unchanged: %s',
  async (result) => {
    await using proxy = await openScriptedProxy(
      {},
      {
        ...modern,
        'tools/call': (server: ScriptedServer, { id }: Said) => {
          server.write(`{"jsonrpc":"2.0","result":${result},"id":${JSON.stringify(id)}}\n`);
          return undefined;
        },
      },
    );
    const session = await RawSession.open(proxy.url);

    const text = await (await session.postCall(7, 'any')).text();

    expect(text).toContain('12345678901234567890');
    expect(text).not.toContain('resultType');
    expect(JSON.parse(text)).toMatchObject({ id: 7, result: { content: [] } });
  },
);

describe('log messages of a modern server on stdio', () => {
  const talkative = {
    ...modern,
    'server/discover': () => ({
      ...modern['server/discover'](),
      capabilities: { logging: {}, tools: { listChanged: true } },
    }),
    'subscriptions/listen': undefined,
    'tools/call': (server: ScriptedServer, { params }: Said) => {
      server.send({ method: 'notifications/message', params: { level: 'info', data: params?.name } });
      return params?.name === 'waits' ? undefined : { content: [] };
    },
  };
  const wanted = { 'io.modelcontextprotocol/logLevel': 'info' };
  const call = async (url: string, name: string, more: object): Promise<Received[]> => {
    const response = await postModern(url, 'tools/call', { name }, { _meta: more });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    return isStream ? Array.fromAsync(readEvents(response)) : [(await response.json()) as Received];
  };

  test('reach the modern client that asked for them', async () => {
    await using proxy = await openScriptedProxy({}, talkative);

    expect(await call(proxy.url, 'one', wanted)).toMatchObject([
      { method: 'notifications/message', params: { level: 'info', data: 'one' } },
      { result: { content: [] } },
    ]);
    expect(await call(proxy.url, 'two', {})).toMatchObject([{ result: { content: [] } }]);
  });

  test('reach it also beside a client that listens to changes', async () => {
    await using proxy = await openScriptedProxy({}, talkative);
    using gone = new Gone();
    const notifications = { toolsListChanged: true };
    const listening = await postModern(
      proxy.url,
      'subscriptions/listen',
      { notifications },
      { signal: gone.signal },
    );
    await expect.poll(() => proxy.servers[0]?.methods).toContain('subscriptions/listen');

    expect(await call(proxy.url, 'one', wanted)).toMatchObject([
      { method: 'notifications/message', params: { data: 'one' } },
      { result: { content: [] } },
    ]);
    await listening.body?.cancel();
  });

  test('reach nobody if they could belong to several calls', async () => {
    await using proxy = await openScriptedProxy({}, talkative);
    using gone = new Gone();
    const waiting = postModern(
      proxy.url,
      'tools/call',
      { name: 'waits' },
      { _meta: wanted, signal: gone.signal },
    ).catch(() => {});
    await expect
      .poll(() => proxy.servers.some((server) => server.last('tools/call') !== undefined))
      .toBe(true);

    expect(await call(proxy.url, 'one', wanted)).toMatchObject([{ result: { content: [] } }]);
    gone[Symbol.dispose]();
    await waiting;
  });
});

/** A client that goes away. */
class Gone implements Disposable {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

describe('a modern client that subscribes to a resource of a legacy server with a process for each client', () => {
  const uri = 'memo:///notes';
  /** Its resources belong to one process, and only who subscribes there learns of their changes. */
  const editor = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name: 'editor', version: '1' },
    }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'tools/call': (server: ScriptedServer) => {
      if (server.last('resources/subscribe') !== undefined)
        server.send({ method: 'notifications/resources/updated', params: { uri } });
      return { content: [] };
    },
  };
  const listenTo = async (url: string, gone: Gone): Promise<AsyncIterableIterator<Received>> => {
    const notifications = { resourceSubscriptions: [uri] };
    const events = readEvents(
      await postModern(url, 'subscriptions/listen', { notifications }, { signal: gone.signal }),
    );
    expect((await events.next()).value).toMatchObject({ method: 'notifications/subscriptions/acknowledged' });
    return events;
  };

  test('learns what its calls change', async () => {
    await using proxy = await openScriptedProxy({}, editor);
    using gone = new Gone();
    const events = await listenTo(proxy.url, gone);

    await answerOf(await postModern(proxy.url, 'tools/call', { name: 'edit' }));

    expect((await events.next()).value).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri },
    });
  });

  test('learns what changes between its calls', async () => {
    await using proxy = await openScriptedProxy({}, editor);
    using gone = new Gone();
    await answerOf(await postModern(proxy.url, 'tools/call', { name: 'edit' }));
    const events = await listenTo(proxy.url, gone);
    const server = (): ScriptedServer | undefined =>
      proxy.servers.find(({ methods }) => methods.includes('tools/call'));
    await expect.poll(() => server()?.methods).toContain('resources/subscribe');

    server()?.send({ method: 'notifications/resources/updated', params: { uri } });

    expect((await events.next()).value).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri },
    });
  });

  test('no longer subscribes after it has gone', async () => {
    await using proxy = await openScriptedProxy({}, editor);
    const gone = new Gone();
    await listenTo(proxy.url, gone);
    await answerOf(await postModern(proxy.url, 'tools/call', { name: 'edit' }));

    gone[Symbol.dispose]();

    const server = proxy.servers.find(({ methods }) => methods.includes('tools/call'));
    await expect.poll(() => server?.methods).toContain('resources/unsubscribe');
  });
});
