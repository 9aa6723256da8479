import type { Manners, Params } from './servers.ts';

/** What a server notes of its clients. */
export interface Observed {
  canceled: number;
  /** Called when a call begins to wait for its cancellation. */
  onWaiting?: () => void;
}

const tasksExtension = 'io.modelcontextprotocol/tasks';
const texts = (text: string): object => ({ content: [{ type: 'text', text }] });
const times = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' };
const signIn = { mode: 'url', url: 'https://example.com/sign-in', message: 'Sign in', elicitationId: 'e1' };

const tools = [
  {
    name: 'everything',
    description: 'Paints, sings, and links at once.',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
    icons: [{ src: 'data:image/png;base64,AAAA' }],
    _meta: { ui: { resourceUri: 'ui://page' } },
  },
  { name: 'job', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
  ...['sign', 'count', 'wait'].map((name) => ({ name, inputSchema: { type: 'object' } })),
];

function declaresTasks({ _meta }: Params): boolean {
  const { 'io.modelcontextprotocol/clientCapabilities': declared } = (_meta ?? {}) as Record<string, unknown>;
  const { extensions = {} } = (declared ?? {}) as { extensions?: object };
  return Object.hasOwn(extensions, tasksExtension);
}

/** A server of a generation that has every feature. */
export function serverWithAll(generation: 'legacy' | 'modern', observed: Observed): Manners {
  const isModern = generation === 'modern';
  const common = {
    tools: {},
    prompts: {},
    resources: { subscribe: true },
    completions: {},
  };
  const skills = { 'io.modelcontextprotocol/skills': {} };
  const capabilities = isModern
    ? { ...common, extensions: { ...skills, [tasksExtension]: {} } }
    : {
        ...common,
        extensions: skills,
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      };
  const entry = { uri: 'skill://help/SKILL.md', frontmatter: { name: 'help', description: 'Helps.' } };
  const contents: Record<string, string> = {
    'ui://page': '<h1>app</h1>',
    'skill://help/SKILL.md': '# Help',
    'notes://1': 'a note',
  };
  const task = {
    taskId: 't1',
    status: 'completed',
    ...times,
    ttl: 60_000,
    ttlMs: 60_000,
    pollInterval: 1,
    pollIntervalMs: 1,
  };
  const calls: Record<string, NonNullable<Manners[string]>> = {
    everything: () => ({
      content: [
        { type: 'text', text: 'all' },
        { type: 'resource_link', uri: 'made://1', name: 'one' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      ],
      structuredContent: { n: 1 },
    }),
    job: (params) => {
      if (isModern && declaresTasks(params)) return { ...task, resultType: 'task', status: 'working' };
      if (!isModern && params['task'] !== undefined) return { task: { ...task, status: 'working' } };
      return texts('done');
    },
    async sign(params, process) {
      if (!isModern) return texts(JSON.stringify(await process.ask('elicitation/create', signIn)));
      const answers = params['inputResponses'];
      if (answers !== undefined) return texts(JSON.stringify(answers));
      const inputRequests = { q1: { method: 'elicitation/create', params: signIn } };
      return { resultType: 'input_required', inputRequests, requestState: 'asked' };
    },
    count({ _meta }, process) {
      const progressToken = _meta?.progressToken;
      for (const progress of [1, 2])
        process.send({ method: 'notifications/progress', params: { progressToken, progress, total: 2 } });
      return texts('counted');
    },
    wait(_params, _process, canceled) {
      canceled.addEventListener('abort', () => (observed.canceled += 1));
      observed.onWaiting?.();
      return undefined;
    },
  };
  const manners: Manners = {
    'tools/list': () => ({ tools }),
    'tools/call': (params, process, canceled) => calls[String(params['name'])]?.(params, process, canceled),
    'prompts/list': () => ({ prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }] }),
    'completion/complete': () => ({ completion: { values: ['ada'] } }),
    'resources/list': () => ({
      resources: ['ui://page', 'notes://1'].map((uri) => ({ uri, name: uri })),
    }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: contents[String(uri)] }] }),
    'skills/list': () => ({ skills: [entry] }),
    'skills/get': () => ({ skill: entry }),
    'tasks/get': () => (isModern ? { ...task, result: texts('done') } : task),
    'tasks/result': isModern ? undefined : () => texts('done'),
  };
  if (!isModern)
    return {
      ...manners,
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities,
        serverInfo: { name: 'all', version: '1' },
      }),
    };
  const complete: Manners = Object.fromEntries(
    Object.entries(manners).map(([method, answer]) => [
      method,
      answer &&
        (async (...given: Parameters<typeof answer>) => {
          const result = (await answer(...given)) as object | undefined;
          return result && { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result };
        }),
    ]),
  );
  return {
    ...complete,
    initialize: undefined,
    'resources/subscribe': undefined,
    'server/discover': () => ({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities,
      serverInfo: { name: 'all', version: '1' },
      ttlMs: 0,
      cacheScope: 'private',
    }),
    'subscriptions/listen'(params, process) {
      const { notifications } = params as unknown as { notifications: object };
      process.send({ method: 'notifications/subscriptions/acknowledged', params: { notifications } });
      return undefined;
    },
  };
}
