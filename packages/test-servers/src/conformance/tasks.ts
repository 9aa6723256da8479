import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/index.js';
import type { CreateTaskRequestHandlerExtra } from '@modelcontextprotocol/sdk/experimental/tasks/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { identity } from './answers.ts';
import { text } from './content.ts';

/** The tasks of all sessions. */
export interface TaskStorage {
  store: InMemoryTaskStore;
  queue: InMemoryTaskMessageQueue;
}

export function taskStorage(): TaskStorage {
  return { store: new InMemoryTaskStore(), queue: new InMemoryTaskMessageQueue() };
}

/** A server of 2025-11-25 whose tools run as tasks, on the SDK's first major version. */
export function taskServer({ store, queue }: TaskStorage = taskStorage()): McpServer {
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer(identity, { capabilities, taskStore: store, taskMessageQueue: queue });
  for (const [name, { run, taskSupport }] of Object.entries(tools)) {
    server.experimental.tasks.registerToolTask(
      name,
      { execution: { taskSupport } },
      {
        async createTask(extra) {
          const { taskId } = await extra.taskStore.createTask({
            ttl: extra.taskRequestedTtl ?? null,
            pollInterval: 5,
          });
          finish(extra, taskId, (given, id) => run(given, id, server)).catch(() => {}); // canceled in the meantime
          return { task: await extra.taskStore.getTask(taskId) };
        },
        getTask: ({ taskId, taskStore }) => taskStore.getTask(taskId),
        getTaskResult: async ({ taskId, taskStore }) =>
          (await taskStore.getTaskResult(taskId)) as CallToolResult,
      },
    );
  }
  server.registerTool('direct', {}, () => ({ content: [text('direct')] }));
  return server;
}

/** Serves the client at the other end of standard input and output. */
export async function serveTasksOnStdio(): Promise<void> {
  await taskServer().connect(new StdioServerTransport());
}

type Extra = CreateTaskRequestHandlerExtra;
type Run = (extra: Extra, taskId: string, server: McpServer) => Promise<string>;

async function finish(
  extra: Extra,
  taskId: string,
  run: (extra: Extra, taskId: string) => Promise<string>,
): Promise<void> {
  const { taskStore } = extra;
  try {
    const said = await run(extra, taskId);
    await taskStore.storeTaskResult(taskId, 'completed', { content: [text(said)] });
  } catch (error) {
    await taskStore.storeTaskResult(taskId, 'failed', { content: [text(String(error))], isError: true });
  }
}

const never: Run = () => new Promise<string>(() => {});

const tools: Record<string, { run: Run; taskSupport: 'optional' | 'required' }> = {
  finish: { run: async () => 'finished', taskSupport: 'optional' },
  fail: { run: () => Promise.reject(new Error('out of paper')), taskSupport: 'optional' },
  /** Goes on until it is canceled. */
  hang: { run: never, taskSupport: 'optional' },
  required: { run: async () => 'finished as a task', taskSupport: 'required' },
  /** Asks the client for a name. */
  input: { run: askName, taskSupport: 'optional' },
  'required-input': { run: askName, taskSupport: 'required' },
};

async function askName({ taskStore }: Extra, taskId: string, server: McpServer): Promise<string> {
  const properties = { name: { type: 'string' } as const };
  const params = {
    mode: 'form' as const,
    message: 'Who are you?',
    requestedSchema: { type: 'object' as const, properties },
  };
  await taskStore.updateTaskStatus(taskId, 'input_required');
  const asked = { method: 'elicitation/create' as const, params };
  const { action, content } = await server.server.request(asked, ElicitResultSchema, {
    relatedTask: { taskId },
  });
  return `${action} ${String(content?.['name'])}`;
}
