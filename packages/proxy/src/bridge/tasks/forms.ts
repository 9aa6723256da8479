import {
  errorCodes,
  errorMessage,
  idText,
  insertMembers,
  isObject,
  membersOf,
  readMessage,
  spanOf,
} from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { relatedTask, tasksExtension } from '../../protocol/extensions.ts';
import { newestLegacyVersion } from '../../protocol/protocol.ts';
import type { ClientIdentity, ServerIdentity } from '../../protocol/protocol.ts';

/** The statuses of a task, which are the same in both forms. */
const statuses = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const;
type TaskStatus = (typeof statuses)[number];

/** A task, in the terms of the extension (SEP-2663, Task). The terms of MCP 2025-11-25 differ in two names. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  /** How long the server keeps the task, from its creation. Null without a limit. */
  ttlMs: number | null;
  pollIntervalMs: number;
}

/** How often clients and the proxy ask about a task, whatever interval the server names. */
export interface PollLimits {
  minPollMs: number;
  maxPollMs: number;
}

/** The interval of a server that names none. */
const usualPollMs = 1_000;
/** Longer IDs do not fit into the header that repeats them. */
const maxIdChars = 512;
const maxStatusChars = 10_000;

/** Reads a task in either form. Throws if that is none. */
export function readTask(value: unknown, { minPollMs, maxPollMs }: PollLimits): Task {
  const given = isObject(value) ? value : {};
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = given;
  if (typeof taskId !== 'string' || taskId === '' || taskId.length > maxIdChars)
    throw new Error(`a task of the server has no ID of at most ${maxIdChars} characters`);
  const known = statuses.find((one) => one === status);
  if (known === undefined)
    throw new Error(`a task of the server has the unknown status ${JSON.stringify(status)?.slice(0, 100)}`);
  const ttl = given['ttlMs'] ?? given['ttl'];
  const interval = given['pollIntervalMs'] ?? given['pollInterval'];
  const wanted = typeof interval === 'number' && Number.isFinite(interval) ? interval : usualPollMs;
  const now = new Date().toISOString();
  return {
    taskId,
    status: known,
    ...(typeof statusMessage === 'string' ? { statusMessage: statusMessage.slice(0, maxStatusChars) } : {}),
    createdAt: typeof createdAt === 'string' ? createdAt.slice(0, 100) : now,
    lastUpdatedAt: typeof lastUpdatedAt === 'string' ? lastUpdatedAt.slice(0, 100) : now,
    ttlMs: typeof ttl === 'number' && Number.isFinite(ttl) && ttl >= 0 ? Math.floor(ttl) : null,
    pollIntervalMs: Math.floor(Math.min(Math.max(wanted, minPollMs), maxPollMs)),
  };
}

export function isOver({ status }: Pick<Task, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Returns a task in the form of MCP 2025-11-25. */
export function legacyForm({ ttlMs, pollIntervalMs, ...same }: Task): Record<string, unknown> {
  return { ...same, ttl: ttlMs, pollInterval: pollIntervalMs };
}

/** Returns the task that a modern server created instead of the result of a call. */
export function createdTask({ value: { result } }: Message): unknown {
  return isObject(result) && result['resultType'] === 'task' ? result : undefined;
}

/** Whether a client or a server has declared the extension. */
export function declaresTasks({ capabilities }: Pick<ClientIdentity, 'capabilities'>): boolean {
  const { extensions } = capabilities;
  return isObject(extensions) && isObject(extensions[tasksExtension]);
}

/** Whether a legacy server runs tool calls as tasks. */
export function offersLegacyTasks({ capabilities }: Pick<ServerIdentity, 'capabilities'>): boolean {
  const { tasks } = capabilities;
  const requests = isObject(tasks) ? tasks['requests'] : undefined;
  const tools = isObject(requests) ? requests['tools'] : undefined;
  return isObject(tools) && isObject(tools['call']);
}

/** Whether the protocol version of a legacy client has tasks. */
export function knowsTasks({ protocolVersion }: ClientIdentity): boolean {
  return protocolVersion === newestLegacyVersion;
}

/** Returns a client that takes tasks in the form of the extension, because the proxy does that for the client. */
export function withTasks(client: ClientIdentity): ClientIdentity {
  const { extensions } = client.capabilities;
  const all = { ...(isObject(extensions) ? extensions : {}), [tasksExtension]: {} };
  return { ...client, capabilities: { ...client.capabilities, extensions: all } };
}

/** The capability that a modern client must declare to use a task (SEP-2663, Protocol Errors). */
export const requiredExtension = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };

/** Returns a call without the parameter with which legacy clients ask for a task. */
export function withoutTaskParameter(call: Message): Message {
  const { params } = call.value;
  if (params?.['task'] === undefined) return call;
  const { text } = call;
  const [start, end] = spanOf(text, ['params']) ?? [0, 0];
  const members = membersOf(text.slice(start, end)).flatMap(([name, value]) =>
    name === 'task' ? [] : [`${JSON.stringify(name)}:${value}`],
  );
  return readMessage(`${text.slice(0, start)}{${members.join(',')}}${text.slice(end)}`);
}

/** Returns a call that asks a legacy server for a task (MCP 2025-11-25, Tasks, Task Parameters). */
export function asTask(call: Message, ttl: number): Message {
  return readMessage(insertMembers(withoutTaskParameter(call).text, ['params'], { task: { ttl } }));
}

/** Returns the answer to a call from the last response about its task. Throws if the response has neither result nor error. */
export function finalAnswer({ text, value }: Message, isCancelled: boolean, id: string): Message {
  const { status, result, error } = isObject(value.result) ? value.result : {};
  if (isCancelled || status === 'cancelled')
    return errorMessage(id, errorCodes.serverError, 'the task was canceled');
  if (status === 'failed') return finalError(error, id);
  const [start, end] = spanOf(text, ['result', 'result']) ?? [0, 0];
  if (!isObject(result)) throw new Error('a completed task of the server has no result');
  return readMessage(`{"jsonrpc":"2.0","id":${id},"result":${text.slice(start, end)}}`);
}

function finalError(error: unknown, id: string): Message {
  const { code, message, data } = isObject(error) ? error : {};
  return errorMessage(
    id,
    Number.isSafeInteger(code) ? (code as number) : errorCodes.serverError,
    typeof message === 'string' ? message : 'the task failed',
    isObject(data) ? data : undefined,
  );
}

/** Returns a response that names its task, as legacy versions require (MCP 2025-11-25, Tasks, Related Task Metadata). */
export function withRelatedTask(response: Message, taskId: string): Message {
  const { result } = response.value;
  if (!isObject(result) || (isObject(result['_meta']) && result['_meta'][relatedTask] !== undefined))
    return response;
  return readMessage(insertMembers(response.text, ['result', '_meta'], { [relatedTask]: { taskId } }));
}

/** Returns the server's ID of the task that a message belongs to, if the message names one. */
export function relatedTo({ value }: Message): string | undefined {
  const related = value.params?._meta?.[relatedTask];
  const id = isObject(related) ? related['taskId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** Answers that the task is unknown. Everyone who may not know of a task gets this answer. */
export function unknownTask(request: Message, why = 'the task is unknown or has expired'): Message {
  return errorMessage(idText(request), errorCodes.invalidParams, why);
}
