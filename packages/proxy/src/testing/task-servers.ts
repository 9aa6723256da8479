import type { Said, ScriptedServer } from './scripted-server.ts';

/** How a task of a test server is doing. */
interface TestTask {
  tool: string;
  status: string;
  /** How often the task is asked about before it is over. */
  left: number;
  answers?: unknown;
}

export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What a task is like in the two forms. */
const common = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' };
const form = { type: 'object', properties: { name: { type: 'string' } } };
export const elicitation = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Who are you?', requestedSchema: form },
};
const texts = (text: string): object => ({ content: [{ type: 'text', text }] });

function declares({ params }: Said): boolean {
  const meta = params?._meta as Record<string, unknown> | undefined;
  const { extensions } = (meta?.['io.modelcontextprotocol/clientCapabilities'] ?? {}) as {
    extensions?: Record<string, unknown>;
  };
  return extensions?.[tasksExtension] !== undefined;
}

/** A modern server whose tools run as tasks in the form of SEP-2663, with IDs that can be guessed. */
export function modernTaskServer(): ScriptedServer['manners'] {
  const tasks = new Map<string, TestTask>();
  const refuse = (server: ScriptedServer, { id }: Said, code: number, message: string, data?: object) =>
    server.send({ id, error: { code, message, data } });
  const described = (taskId: string, { status }: TestTask): object => ({
    taskId,
    status,
    statusMessage: `now ${status}`,
    ...common,
    ttlMs: 60_000,
    pollIntervalMs: 1,
  });
  const find = (server: ScriptedServer, message: Said): [string, TestTask] | undefined => {
    const id = String(message.params?.['taskId']);
    const task = tasks.get(id);
    if (task !== undefined && declares(message)) return [id, task];
    refuse(server, message, task === undefined ? -32_602 : -32_021, `no task ${id}`);
    return undefined;
  };
  return {
    initialize: (server, message) => refuse(server, message, -32_601, 'no initialize'),
    'server/discover': () => ({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { [tasksExtension]: {} } },
      ttlMs: 0,
      cacheScope: 'private',
    }),
    /** Tells of everything that happens until the stream ends. */
    'subscriptions/listen'(server, { id, params }) {
      const { notifications } = params as { notifications: object };
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      server.send({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } });
      return undefined;
    },
    'tools/call'(server, message) {
      const tool = message.params?.name ?? '';
      if (tool === 'direct') return { resultType: 'complete', ...texts('direct') };
      if (!declares(message)) {
        const data = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
        return refuse(server, message, -32_021, 'Missing required client capability', data);
      }
      const taskId = `t${tasks.size + 1}`;
      const task = { tool, status: 'working', left: 2 };
      tasks.set(taskId, task);
      return { resultType: 'task', ...described(taskId, task) };
    },
    'tasks/get'(server, message) {
      const [taskId, task] = find(server, message) ?? [];
      if (taskId === undefined || task === undefined) return undefined;
      if (task.status === 'working' && task.tool !== 'hang' && --task.left <= 0) {
        const isAsking = task.tool === 'input' && task.answers === undefined;
        task.status = isAsking ? 'input_required' : task.tool === 'fail' ? 'failed' : 'completed';
        if (task.tool === 'odd') task.status = 'dreaming';
      }
      const isToolError = task.tool === 'tool-error';
      const final = task.answers === undefined ? task.tool : JSON.stringify(task.answers);
      return {
        resultType: 'complete',
        ...described(taskId, task),
        ...(task.status === 'input_required' ? { inputRequests: { who: elicitation } } : {}),
        ...(task.status === 'failed' ? { error: { code: -32_050, message: 'out of paper' } } : {}),
        ...(task.status === 'completed'
          ? { result: { ...texts(final), ...(isToolError ? { isError: true } : {}) } }
          : {}),
      };
    },
    'tasks/update'(server, message) {
      const [, task] = find(server, message) ?? [];
      if (task === undefined) return undefined;
      task.answers = message.params?.['inputResponses'];
      task.status = 'working';
      return { resultType: 'complete' };
    },
    'tasks/cancel'(server, message) {
      const [, task] = find(server, message) ?? [];
      if (task === undefined) return undefined;
      return { resultType: 'complete' }; // cooperative: the task goes on
    },
  };
}
