import { createInterface } from 'node:readline';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { MemoryServer } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import { testServersSource } from '@toolhive/runtime/testing/memory-servers';

/** What a tool may do with its client during a call. */
interface ToolCall {
  /** Asks the client, and returns the answer. */
  ask: (method: string, params: object) => Promise<Record<string, unknown>>;
  notify: (method: string, params: object) => void;
  progressToken: unknown;
  /** Aborts when the client cancels the call. */
  canceled: AbortSignal;
}

/** A tool of a server that a test writes. */
interface TestTool extends Record<string, unknown> {
  name: string;
  run?: (args: Record<string, unknown>, call: ToolCall) => Promise<string> | string;
}

/** Servers by their names, which a workload names as its first argument. A test may change the tools. */
export type ToolServers = Record<string, TestTool[]>;

/** Legacy servers in memory, and a way to tell their clients that the tools have changed. */
export interface ToolRuntime {
  runtime: Runtime;
  changed: (server: string) => void;
}

interface Message {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown> & { _meta?: { progressToken?: unknown } };
  result?: Record<string, unknown>;
}

export function openToolRuntime(servers: ToolServers): ToolRuntime {
  const senders = new Map<string, Set<(message: object) => void>>();
  const serve: MemoryServer = async ({ args: [name = ''], input, output }) => {
    const send = (message: object): void =>
      void output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    senders.set(name, (senders.get(name) ?? new Set()).add(send));
    const asked = new Map<unknown, (result: Record<string, unknown>) => void>();
    const calls = new Map<unknown, AbortController>();
    let lastId = 0;
    const call = async ({ id, params = {} }: Message): Promise<void> => {
      const tool = servers[name]?.find((one) => one.name === params['name']);
      const canceled = new AbortController();
      calls.set(id, canceled);
      const text = await tool?.run?.((params['arguments'] ?? {}) as Record<string, unknown>, {
        ask(method, about) {
          const own = `ask-${++lastId}`;
          const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
          asked.set(own, resolve);
          send({ id: own, method, params: about });
          return promise;
        },
        notify: (method, about) => send({ method, params: about }),
        progressToken: params._meta?.progressToken,
        canceled: canceled.signal,
      });
      send({ id, result: { content: [{ type: 'text', text: text ?? `called ${String(params['name'])}` }] } });
    };
    for await (const line of createInterface({ input })) {
      const message = JSON.parse(line) as Message;
      const { id, method, params } = message;
      if (method === undefined) asked.get(id)?.(message.result ?? {});
      else if (method === 'initialize')
        send({
          id,
          result: {
            protocolVersion: '2025-11-25',
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name, version: '1' },
          },
        });
      else if (method === 'tools/list')
        send({ id, result: { tools: (servers[name] ?? []).map(({ run: _run, ...tool }) => tool) } });
      else if (method === 'tools/call') void call(message);
      else if (method === 'notifications/cancelled') calls.get(params?.['requestId'])?.abort();
      else if (id !== undefined) send({ id, error: { code: -32601, message: `no ${method}` } });
    }
  };
  return {
    runtime: openMemoryRuntime(new Map([[formatSource(testServersSource), serve]])),
    changed(server) {
      for (const send of senders.get(server) ?? []) send({ method: 'notifications/tools/list_changed' });
    },
  };
}

/** A tool with a description and no arguments. */
export function aTool(name: string, description: string, changes: Partial<TestTool> = {}): TestTool {
  return { name, description, inputSchema: { type: 'object' }, ...changes };
}
