import { createInterface } from 'node:readline';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { MemoryServer } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import { testServersSource } from '@toolhive/runtime/testing/memory-servers';

/** One process of a server. */
export interface Process {
  /** What the process remembers. */
  memory: string[];
  send: (message: object) => void;
  /** Asks the client, and returns the answer. */
  ask: (method: string, params: object) => Promise<Record<string, unknown>>;
}

export type Params = Record<string, unknown> & { _meta?: { progressToken?: unknown } };

/** Answers a request. Without a result, the request is not answered. */
type Answer = (params: Params, process: Process, canceled: AbortSignal) => unknown;

/** The answers of a legacy server, by method. A test may change them. A method without an answer is unknown. */
export type Manners = Record<string, Answer | undefined>;

export interface TestServers {
  runtime: Runtime;
  /** Sends a notification from all processes of a server. */
  notify: (server: string, method: string, params?: object) => void;
}

interface Line {
  id?: string | number;
  method?: string;
  params?: Params & { requestId?: unknown };
  result?: Record<string, unknown>;
}

const initialized: Answer = () => ({
  protocolVersion: '2025-11-25',
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    completions: {},
    logging: {},
  },
  serverInfo: { name: 'test', version: '1' },
});

const usual: Manners = {
  initialize: initialized,
  ping: () => ({}),
  'tools/list': () => ({ tools: [] }),
  'prompts/list': () => ({ prompts: [] }),
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'logging/setLevel': () => ({}),
};

/** Runs legacy servers in memory. A workload names its server as the first argument. */
export function openServers(servers: Record<string, Manners>): TestServers {
  const processes = new Map<string, Set<Process>>();
  const serve: MemoryServer = async ({ args: [name = ''], input, output }) => {
    const answers = new Map<unknown, (result: Record<string, unknown>) => void>();
    const calls = new Map<unknown, AbortController>();
    const send = (message: object): void => {
      output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    };
    const process: Process = {
      memory: [],
      send,
      ask(method, params) {
        const id = `ask-${answers.size + 1}`;
        const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
        answers.set(id, resolve);
        send({ id, method, params });
        return promise;
      },
    };
    processes.set(name, (processes.get(name) ?? new Set()).add(process));
    const answer = async ({ id, method = '', params = {} }: Line): Promise<void> => {
      const canceled = new AbortController();
      calls.set(id, canceled);
      const own = servers[name] ?? {};
      const found = Object.hasOwn(own, method) ? own[method] : usual[method];
      if (found === undefined) return send({ id, error: { code: -32601, message: `no ${method}` } });
      const result = await found(params, process, canceled.signal);
      if (result !== undefined) send({ id, result });
    };
    for await (const line of createInterface({ input })) {
      const message = JSON.parse(line) as Line;
      const { id, method, params, result = {} } = message;
      if (method === undefined) answers.get(id)?.(result);
      else if (method === 'notifications/cancelled') calls.get(params?.requestId)?.abort();
      else if (id !== undefined) answer(message).catch(() => {});
    }
    processes.get(name)?.delete(process);
  };
  return {
    runtime: openMemoryRuntime(new Map([[formatSource(testServersSource), serve]])),
    notify(server, method, params = {}) {
      for (const { send } of processes.get(server) ?? []) send({ method, params });
    },
  };
}

/** Manners of a server with tools, each of which answers with a text. */
export function withTools(
  tools: Record<
    string,
    (
      args: Record<string, unknown>,
      process: Process,
      params: Params,
      canceled: AbortSignal,
    ) => string | Promise<string>
  >,
  more: Manners = {},
): Manners {
  return {
    'tools/list': () => ({
      tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
    }),
    'tools/call': async (params, process, canceled) => {
      const args = (params['arguments'] ?? {}) as Record<string, unknown>;
      const text = await tools[String(params['name'])]?.(args, process, params, canceled);
      return { content: [{ type: 'text', text }] };
    },
    ...more,
  };
}
