import { setTimeout as delay } from 'node:timers/promises';
import { askClient } from '../legacy-call.ts';
import type { Session } from '../session.ts';
import type { ServerConnection } from '../../connection/connection.ts';
import type { Responder } from '../../connection/responder.ts';
import { idText, isObject, restate } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { modernMeta } from '../../protocol/protocol.ts';
import { askServer, orAborted } from '../../connection/ask-server.ts';
import { isOver, readTask, withTasks } from './forms.ts';
import type { PollLimits, Task } from './forms.ts';
import type { KnownTask } from './session-tasks.ts';

/** How often a server may ask in the course of one task. */
const maxRounds = 50;
/** How many questions of one task are remembered, so that no question is asked twice. */
const maxAsked = 5_000;

export interface WaitLimits extends PollLimits {
  /** How long a request continues after its client disconnects, because the client may reconnect. */
  abandonedMs: number;
  now: () => number;
}

/** A request of a legacy client to a modern server. */
export interface Asked {
  connection: ServerConnection;
  session: Session;
  request: Message;
  responder: Responder;
}

/** A request that waits for the end of a task. */
export interface Waiting extends Asked {
  known: KnownTask;
  signal: AbortSignal;
  /** Whether the client knows of the task. */
  isSeen: boolean;
  /** Told of each state of the task. */
  changed: (task: Task) => void;
  /** Since when no connection waits for the answer. */
  abandonedSinceMs?: number | undefined;
}

/** The state of a task, and the response of the server that contains the state. */
export interface Found {
  task: Task;
  response?: Message;
}

/** Sends a request about a task to the server. Resolves with the response, also if that is an error. */
export function tellServer(
  { connection, session, responder }: Asked,
  { method, params }: { method: string; params: Record<string, unknown> },
  signal: AbortSignal,
): Promise<Message> {
  const described = { ...params, _meta: modernMeta(withTasks(session.client)) };
  const isAwaited = (): boolean => responder.isAbandoned !== true;
  return askServer(connection, { method, params: described }, { signal, caller: session, isAwaited });
}

/** Asks the server about a task. Returns the error for the client if the task is unknown. */
export async function findTask(
  asked: Asked,
  taskId: string,
  limits: PollLimits,
  signal: AbortSignal,
): Promise<Found | Message> {
  const response = await tellServer(asked, { method: 'tasks/get', params: { taskId } }, signal);
  if (response.value.error !== undefined) return restate(response, { newId: idText(asked.request) });
  return { task: { ...toolTask(response.value.result, limits), taskId }, response };
}

/**
 * Asks the server about a task until the task is over, and passes the questions of the server to the client. Returns the
 * last response, or the error for the client.
 */
export async function awaitTask(waiting: Waiting, limits: WaitLimits, first?: Message): Promise<Message> {
  const { known, signal, changed } = waiting;
  let response = first;
  for (let rounds = 0; rounds <= maxRounds;) {
    if (response === undefined) {
      const found = await findTask(waiting, known.task.taskId, limits, signal);
      if ('value' in found) return found;
      known.task = known.isCancelled ? { ...found.task, status: 'cancelled' } : found.task;
      response = found.response;
    }
    changed(known.task);
    if (response === undefined || isOver(known.task)) break;
    if (known.task.status === 'input_required' && (await passQuestions(waiting, response))) rounds += 1;
    response = undefined;
    await pause(waiting, limits);
  }
  if (response === undefined) throw new Error('the server never stops asking');
  return response;
}

/** Waits for the next poll. Throws if nothing would come of it. */
export async function pause(waiting: Waiting, { now, abandonedMs, maxPollMs }: WaitLimits): Promise<void> {
  const { known, responder, signal } = waiting;
  const { pollIntervalMs, ttlMs } = known.task;
  const endMs = ttlMs === null ? Infinity : known.sinceMs + ttlMs + maxPollMs;
  if (now() > endMs) throw new Error('the server has not ended the task in its time to live');
  await delay(pollIntervalMs, undefined, { signal, ref: false });
  waiting.abandonedSinceMs = responder.isAbandoned === true ? (waiting.abandonedSinceMs ?? now()) : undefined;
  if (now() - (waiting.abandonedSinceMs ?? now()) > abandonedMs) throw new Error('the client went away');
}

/** Passes the questions of the server to the client. Returns false if the client was asked already. */
async function passQuestions(waiting: Waiting, response: Message): Promise<boolean> {
  const { session, request, responder, known, isSeen, signal } = waiting;
  const { taskId } = known.task;
  const { result } = response.value;
  const own = new Set<string>();
  const isWanted = (key: string): boolean => {
    if (known.asked.has(key)) return false;
    if (known.asked.size >= maxAsked) throw new Error('the server never stops asking');
    known.asked.add(key);
    own.add(key);
    return true;
  };
  try {
    const options = { isWanted, taskId: isSeen ? taskId : undefined };
    const asking = askClient(session, { request, responder }, isObject(result) ? result : {}, options);
    const inputResponses = await orAborted(asking, signal);
    if (own.size === 0) return false;
    const update = { method: 'tasks/update', params: { taskId, inputResponses } };
    const { error } = (await tellServer(waiting, update, signal)).value;
    if (error !== undefined) throw new Error(`the server refused the answers: ${error.message}`);
    return true;
  } catch (failure) {
    for (const key of own) known.asked.delete(key); // the next request that waits for the task asks again
    throw failure;
  }
}

/** The state of a tool call's task. For legacy clients, a result that is an error is a failure (MCP 2025-11-25, Task Status). */
export function toolTask(said: unknown, limits: PollLimits): Task {
  const task = readTask(said, limits);
  const final = isObject(said) ? said['result'] : undefined;
  const isFailure = task.status === 'completed' && isObject(final) && final['isError'] === true;
  return isFailure ? { ...task, status: 'failed' } : task;
}
