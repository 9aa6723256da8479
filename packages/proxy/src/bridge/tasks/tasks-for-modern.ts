import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { ModernRequest, PendingRequest } from '../modern-call.ts';
import type { Seal } from '../../sealing/seal.ts';
import type { ConnectionOwner } from '../../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../../connection/pool.ts';
import { answerError, answerUnknown } from '../../connection/responder.ts';
import type { Responder } from '../../connection/responder.ts';
import { errorCodes, errorMessage, idText, isObject, readMessage, restate } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import type { Caller } from '../../middleware/middleware.ts';
import { mcpErrors } from '../../protocol/protocol.ts';
import type { ServerIdentity } from '../../protocol/protocol.ts';
import { declaresTasks, readTask, requiredExtension, unknownTask } from './forms.ts';
import type { PollLimits, Task } from './forms.ts';
import { ServerTask, TaskRefusal } from './server-task.ts';
import type { TaskDetail } from './server-task.ts';

/** How many unfinished tasks a caller may have, and how many tasks a workload is followed for. */
const maxOfCaller = 100;
const maxTasks = 1_000;
/** How long a task is kept, whatever the server says, and how long one that is over. */
export const maxTaskMs = 24 * 60 * 60_000;
const keptOverMs = 10 * 60_000;

export interface TasksForModernOptions extends PollLimits {
  workload: string;
  pool: ConnectionPool;
  seal: Seal;
  /** A further connection means a further process, with which its tasks end. */
  isSlowToStart: boolean;
  /** How long a client may be silent until others may take the place of its task. */
  abandonedMs: number;
  now: () => number;
}

/** The content of a task's ID. Clients cannot read it, because a session of the server can be used by anyone who knows its ID. */
interface Sealed {
  task: string;
  session?: string | undefined;
  version: string;
}

/**
 * The tasks of a legacy server for modern clients (SEP-2663). The ID of a task says where to find the task, so the task of
 * a server with sessions survives this proxy. The task of a process ends with the process.
 */
export class TasksForModern {
  readonly #options: TasksForModernOptions;
  readonly #tasks = new Map<string, { task: ServerTask; release: () => void }>();
  readonly #opening = new Map<string, Promise<ServerTask>>();
  /** Why tasks have ended with their processes. */
  readonly #ended = new Map<string, string>();

  constructor(options: TasksForModernOptions) {
    this.#options = options;
  }

  /** Why a caller may not begin another task, if it may not. */
  excessOf({ principal }: Caller): string | undefined {
    this.maintain();
    const running = this.#tasks
      .values()
      .filter(({ task }) => task.principal === principal.id && task.isRunning);
    return running.toArray().length < maxOfCaller
      ? undefined
      : `more than ${maxOfCaller} tasks of this caller have not ended, try again later`;
  }

  /** Takes over the task that a server has begun for a call. Throws if the server has not begun one. */
  adopt(created: unknown, { client, principal }: Caller, own: OwnConnection): Task {
    const serverTask = readTask(created, this.#options);
    const { connection } = own;
    const sealed: Sealed = {
      task: serverTask.taskId,
      session: connection.session,
      version: connection.identity.protocolVersion,
    };
    // No two sealed IDs are the same, although two processes may give their tasks the same ID.
    const id = this.#options.seal.seal(JSON.stringify(sealed), this.#bound, maxTaskMs);
    return this.#follow(id, sealed, { client, principal }, own).remember(created);
  }

  /** Answers a request about a task. */
  request(
    { message, caller }: ModernRequest,
    responder: Responder,
    identity: ServerIdentity,
  ): PendingRequest {
    const { method = '', params = {} } = message.value;
    const nothing = { cancel() {} };
    const answer = Object.hasOwn(this.#answers, method) ? this.#answers[method] : undefined;
    if (answer === undefined) {
      answerUnknown(message, responder);
      return nothing;
    }
    if (!declaresTasks(caller.client)) {
      const why = 'requests about tasks need the extension for tasks';
      answerError(responder, idText(message), mcpErrors.missingClientCapability, why, requiredExtension);
      return nothing;
    }
    const over = new AbortController();
    this.find(String(params['taskId']), caller, identity)
      .then((task) =>
        typeof task === 'string' ? unknownTask(message, task) : answer(task, message, over.signal),
      )
      .catch((error: unknown) => failure(message, error))
      .then((response) => over.signal.aborted || responder.answer(response))
      .catch(raiseFault);
    return { cancel: () => over.abort(new Error('the client went away')) };
  }

  /** Returns a task, or the reason why it is unknown. */
  async find(id: string, caller: Caller, identity: ServerIdentity): Promise<ServerTask | string> {
    const known = this.#tasks.get(id);
    if (known !== undefined) return known.task;
    const ended = this.#ended.get(id);
    if (ended !== undefined) return ended;
    const content = this.#options.seal.unseal(id, this.#bound);
    if (content === undefined) return 'the task is unknown or has expired';
    if (this.#options.isSlowToStart) return 'the server of this task has ended, and the task with it';
    const opening = this.#opening.get(id) ?? this.#open(id, JSON.parse(content) as Sealed, caller, identity);
    this.#opening.set(id, opening);
    return opening.finally(() => this.#opening.delete(id));
  }

  /** Whether an ID is that of a task. The server may have forgotten the task. */
  isKnown(id: string): boolean {
    if (this.#tasks.has(id)) return true;
    return !this.#options.isSlowToStart && this.#options.seal.unseal(id, this.#bound) !== undefined;
  }

  /** Forgets tasks that are over or too old. */
  maintain(): void {
    const { now } = this.#options;
    for (const [id, { task, release }] of this.#tasks) {
      const ttlMs = Math.min(task.last?.ttlMs ?? maxTaskMs, maxTaskMs);
      const isOld = now() > task.sinceMs + ttlMs || (!task.isRunning && now() > task.seenMs + keptOverMs);
      if (!isOld && this.#tasks.size <= maxTasks) continue;
      release();
      task.end('the task has expired');
      this.#forget(id, 'the task has expired');
    }
  }

  readonly #answers: Readonly<
    Record<string, (task: ServerTask, request: Message, signal: AbortSignal) => Promise<Message>>
  > = {
    'tasks/get': async (task, request, signal) => detailMessage(request, await task.detail(signal)),
    'tasks/update': async (task, request) => {
      const { inputResponses } = request.value.params ?? {};
      task.update(isObject(inputResponses) ? inputResponses : {});
      return acknowledged(request);
    },
    'tasks/cancel': async (task, request, signal) => {
      await task.cancel(signal);
      return acknowledged(request);
    },
  };

  get #bound(): string {
    return JSON.stringify(['task', this.#options.workload]);
  }

  #follow(
    id: string,
    { task: serverId }: Sealed,
    { client, principal }: Pick<Caller, 'client' | 'principal'>,
    own: OwnConnection,
  ): ServerTask {
    const { isSlowToStart, abandonedMs } = this.#options;
    const task = new ServerTask({
      ...this.#options,
      id,
      serverId,
      client,
      connection: own.connection,
      principal: principal.id,
      isResumable: !isSlowToStart,
      followedMs: abandonedMs,
      onLost: (reason) => this.#forget(id, `the server of this task has ended: ${reason}`),
    });
    this.#tasks.set(id, { task, release: own.watch(task) });
    this.maintain();
    return task;
  }

  /** Finds the task of an earlier connection again. */
  async #open(id: string, sealed: Sealed, caller: Caller, identity: ServerIdentity): Promise<ServerTask> {
    const { session, version } = sealed;
    const { client } = caller;
    const key = `tasks of ${JSON.stringify([session, caller.principal.id])} `;
    const described = { ...identity, protocolVersion: version };
    const resumed = session === undefined ? undefined : { id: session, identity: described };
    const own = await this.#options.pool.take(decliner, client, { key, resumed });
    const task = this.#follow(id, sealed, caller, own);
    own.giveBack(key);
    return task;
  }

  #forget(id: string, why: string): void {
    this.#tasks.delete(id);
    if (!this.#options.isSlowToStart) return; // the next request finds the task again, if the server still has it
    this.#ended.set(id, why);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > maxTasks && oldest !== undefined) this.#ended.delete(oldest);
  }
}

/** Has a connection only until its task is followed. */
const decliner: ConnectionOwner = {
  notified() {},
  asked: (connection, request) => connection.decline(request),
  lost() {},
};

/** Returns the response to a call that has become a task. */
export function createdMessage(request: Message, task: Task, meta: unknown): Message {
  return resultFrom(request, { resultType: 'task', ...task, ...(isObject(meta) ? { _meta: meta } : {}) }, '');
}

function detailMessage(request: Message, { task, members }: TaskDetail): Message {
  return resultFrom(request, { resultType: 'complete', ...task }, members);
}

function acknowledged(request: Message): Message {
  return resultFrom(request, { resultType: 'complete' }, '');
}

/** Returns a response with a result that has further members as JSON text. */
function resultFrom(request: Message, result: object, members: string): Message {
  const described = JSON.stringify(result).slice(0, -1);
  return readMessage(`{"jsonrpc":"2.0","id":${idText(request)},"result":${described}${members}}}`);
}

function failure(request: Message, error: unknown): Message {
  if (error instanceof TaskRefusal) return restate(error.response, { newId: idText(request) });
  return errorMessage(idText(request), errorCodes.serverError, messageOf(error));
}
