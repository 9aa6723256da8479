import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { askModern } from '../legacy-call.ts';
import { withoutResultType } from '../modern-result.ts';
import type { Session } from '../session.ts';
import { answerError, answerUnknown, withAnswer } from '../../connection/responder.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  isObject,
  ownMessage,
  restate,
  resultMessage,
} from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { tasksExtension } from '../../protocol/extensions.ts';
import { mcpErrors, modernMeta } from '../../protocol/protocol.ts';
import { awaitTask, findTask, pause, tellServer, toolTask } from './await-task.ts';
import type { Asked, Found, WaitLimits, Waiting } from './await-task.ts';
import { FinishedCalls, isFinishedCall } from './finished-calls.ts';
import {
  createdTask,
  declaresTasks,
  finalAnswer,
  isOver,
  knowsTasks,
  legacyForm,
  readTask,
  unknownTask,
  withRelatedTask,
  withTasks,
  withoutTaskParameter,
} from './forms.ts';
import type { Task } from './forms.ts';
import { withStatusProgress } from './progress.ts';
import { SessionTasks, maxUnfinished } from './session-tasks.ts';
import type { KnownTask } from './session-tasks.ts';

export interface TasksForLegacyOptions extends WaitLimits {
  /** Told that a client has a task, of whose changes the server may tell. */
  onBegun: () => void;
}

/**
 * The tasks of a modern server for legacy clients. A client of 2025-11-25 that asks for a task gets one. For any other
 * call, the proxy waits for the end of the task that the server began, and answers with the result.
 */
export class TasksForLegacy {
  readonly #options: TasksForLegacyOptions;
  readonly #finished: FinishedCalls;
  readonly #sessions = new WeakMap<Session, SessionTasks>();

  constructor(options: TasksForLegacyOptions) {
    this.#options = options;
    this.#finished = new FinishedCalls(options.now);
  }

  /** Passes a tool call on. */
  call(asked: Asked): void {
    const { connection, session, request } = asked;
    const isOffered = declaresTasks(connection.identity) && knowsTasks(session.client);
    const wantsTask = isOffered && isObject(request.value.params?.['task']);
    const call = { ...asked, request: withoutTaskParameter(request) };
    if (wantsTask) this.#create(call);
    else this.#complete(call);
  }

  /** Answers a request about a task. */
  request(asked: Asked): void {
    const { connection, session, request, responder } = asked;
    const { method = '', params } = request.value;
    const isOffered = declaresTasks(connection.identity) && knowsTasks(session.client);
    const answer = isOffered && Object.hasOwn(this.#answers, method) ? this.#answers[method] : undefined;
    if (answer === undefined) return answerUnknown(request, responder);
    const id = params?.['taskId'];
    if (method !== 'tasks/list' && typeof id !== 'string') return responder.answer(unknownTask(request));
    this.#wait(asked, (signal) => answer(asked, String(id), signal));
  }

  /** Takes the cancellation of a request. Returns whether the request waits for a task. */
  cancelled(session: Session, request: unknown): boolean {
    const isId = typeof request === 'string' || typeof request === 'number';
    return isId && this.#of(session).stop(request, 'the request was cancelled');
  }

  /** Ends everything that waits for a session that has ended. */
  forget(session: Session): void {
    this.#of(session).stopAll('the session was closed');
    this.#finished.forget(session);
  }

  /** The tasks of a session whose changes its client can be told. */
  unfinishedOf(session: Session): ReadonlySet<string> {
    return knowsTasks(session.client) ? this.#of(session).unfinished : new Set();
  }

  /** Takes a notification of the server about a task. */
  told(session: Session, { value }: Message): void {
    const known = this.#of(session).find(String(value.params?.['taskId']));
    if (known === undefined || isOver(known.task)) return;
    try {
      const { task } = this.#of(session).update(toolTask(value.params, this.#options));
      this.#notify(session, task);
    } catch {
      // The client learns with its next request that the server violates the protocol.
    }
  }

  readonly #answers: Readonly<
    Record<string, (asked: Asked, id: string, signal: AbortSignal) => Promise<Message>>
  > = {
    'tasks/get': (asked, id, signal) => this.#get(asked, id, signal),
    'tasks/result': (asked, id, signal) => this.#result(asked, id, signal),
    'tasks/list': (asked, _id, signal) => this.#list(asked, signal),
    'tasks/cancel': (asked, id, signal) => this.#cancel(asked, id, signal),
  };

  #of(session: Session): SessionTasks {
    const known = this.#sessions.get(session) ?? new SessionTasks(this.#options.now);
    this.#sessions.set(session, known);
    return known;
  }

  /** Calls a tool for a client that wants a task. */
  #create({ connection, session, request, responder }: Asked): void {
    if (this.#of(session).areTooMany) {
      const why = `more than ${maxUnfinished} tasks of this session have not ended, try again later`;
      return answerError(responder, idText(request), errorCodes.serverError, why);
    }
    const created = withAnswer(responder, (response) =>
      responder.answer(this.#created(session, request, response)),
    );
    askModern(connection, session, request, created, withTasks(session.client));
  }

  #created(session: Session, request: Message, response: Message): Message {
    if (response.value.error !== undefined) return response;
    const id = idText(request);
    const created = createdTask(response);
    if (created === undefined) {
      // The server has executed the call at once. A task begins as a working one, whatever follows.
      const { task } = this.#of(session).update(this.#finished.add(response, session));
      return resultMessage(id, { task: legacyForm({ ...task, status: 'working' }) });
    }
    try {
      const { task } = this.#of(session).update(readTask(created, this.#options));
      this.#options.onBegun();
      return createdMessage(id, task, response);
    } catch (error) {
      return errorMessage(id, errorCodes.serverError, messageOf(error));
    }
  }

  /**
   * Calls a tool for a client that wants the result. The server may begin a task only if nothing else is possible,
   * because calls without tasks report progress and logs.
   */
  #complete(asked: Asked): void {
    const { connection, session, request } = asked;
    const { responder, report } = withStatusProgress(request, asked.responder);
    const settle = (response: Message): void => {
      const task = createdTask(response);
      if (task === undefined) return responder.answer(response);
      this.#wait({ ...asked, responder }, (signal) =>
        this.#outcomeOfCall({ ...asked, responder, changed: report, signal, isSeen: false }, task),
      );
    };
    const first = withAnswer(responder, (response) => {
      if (!requiresTasks(response)) return settle(response);
      askModern(connection, session, request, withAnswer(responder, settle), withTasks(session.client));
    });
    askModern(connection, session, request, first);
  }

  /** Waits for the end of a task that the client knows nothing of. */
  async #outcomeOfCall(waiting: Omit<Waiting, 'known'>, created: unknown): Promise<Message> {
    const task = readTask(created, this.#options);
    const known = { task, sinceMs: this.#options.now(), isCancelled: false, asked: new Set<string>() };
    try {
      if (!isOver(task)) await pause({ ...waiting, known }, this.#options);
      const response = await awaitTask({ ...waiting, known }, this.#options);
      return finalOf(response, known, idText(waiting.request));
    } catch (error) {
      this.#giveUp(waiting, task.taskId);
      throw error;
    }
  }

  /** Cancels a task that nothing waits for and that no client knows. */
  #giveUp({ connection, session }: Asked, taskId: string): void {
    if (!connection.isOpen) return;
    const params = { taskId, _meta: modernMeta(withTasks(session.client)) };
    connection.request('tasks/cancel', params).catch(() => {}); // the server may have ended the task
  }

  async #get(asked: Asked, id: string, signal: AbortSignal): Promise<Message> {
    const { session, request } = asked;
    const known = await this.#find(asked, id, signal);
    return 'value' in known ? known : taskMessage(request, this.#of(session).update(known.task).task);
  }

  async #result(asked: Asked, id: string, signal: AbortSignal): Promise<Message> {
    const { session, request } = asked;
    const finished = this.#finished.find(id, session);
    if (finished !== undefined) return withRelatedTask(restate(finished, { newId: idText(request) }), id);
    const found = await this.#find(asked, id, signal);
    if ('value' in found) return found;
    const known = this.#of(session).update(found.task);
    let { status } = known.task;
    const changed = (task: Task): void => {
      if (task.status !== status) this.#notify(session, task);
      ({ status } = task);
    };
    const waiting = { ...asked, known, signal, isSeen: true, changed };
    const response = await awaitTask(waiting, this.#options, found.response);
    return withRelatedTask(finalOf(response, known, idText(request)), id);
  }

  async #list(asked: Asked, signal: AbortSignal): Promise<Message> {
    const { session, request } = asked;
    const page = this.#of(session).page(request.value.params?.['cursor']);
    if (page === undefined) return unknownTask(request, 'the cursor is unknown');
    const asking = page.tasks.map(async ({ task }) => {
      if (isOver(task)) return [legacyForm(task)];
      const found = await this.#find(asked, task.taskId, signal);
      if (!('value' in found)) return [legacyForm(this.#of(session).update(found.task).task)];
      this.#of(session).forget(task.taskId);
      return [];
    });
    const tasks = (await Promise.all(asking)).flat();
    const next = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor };
    return resultMessage(idText(request), { tasks, ...next });
  }

  /** For legacy clients, a canceled task is canceled at once and for good. The server may need more time. */
  async #cancel(asked: Asked, id: string, signal: AbortSignal): Promise<Message> {
    const { session, request } = asked;
    const found = await this.#find(asked, id, signal);
    if ('value' in found) return found;
    const known = this.#of(session).update(found.task);
    if (isOver(known.task))
      return unknownTask(request, `the task cannot be canceled because it is ${known.task.status}`);
    const refused = await tellServer(asked, { method: 'tasks/cancel', params: { taskId: id } }, signal);
    if (refused.value.error !== undefined) return restate(refused, { newId: idText(request) });
    known.isCancelled = true;
    const { task } = this.#of(session).update({ ...known.task, status: 'cancelled' });
    this.#notify(session, task);
    return taskMessage(request, task);
  }

  /** Returns the state of a task, or the error for the client if there is none. */
  async #find(asked: Asked, taskId: string, signal: AbortSignal): Promise<Found | Message> {
    if (!isFinishedCall(taskId)) return findTask(asked, taskId, this.#options, signal);
    const { session, request } = asked;
    const over = this.#finished.find(taskId, session) && this.#of(session).find(taskId);
    return over ?? unknownTask(request);
  }

  #notify(session: Session, task: Task): void {
    if (!knowsTasks(session.client) || this.#of(session).find(task.taskId) === undefined) return;
    session.notify(ownMessage({ method: 'notifications/tasks/status', params: legacyForm(task) }));
  }

  /** Answers a request when the work for the request is over, or tells why that failed. */
  #wait({ session, request, responder }: Asked, work: (signal: AbortSignal) => Promise<Message>): void {
    const { id = '' } = request.value;
    const tasks = this.#of(session);
    const waiting = tasks.wait(id);
    const fail = (why: string): void => answerError(responder, idText(request), errorCodes.serverError, why);
    if (waiting === undefined)
      return fail('too many requests of this session wait for tasks, try again later');
    work(waiting.signal)
      .then(
        (response) => responder.answer(response),
        (error: unknown) => fail(messageOf(waiting.signal.aborted ? waiting.signal.reason : error)),
      )
      .finally(() => tasks.ended(id, waiting))
      .catch(raiseFault);
  }
}

/** Returns the answer to a call from the server's last response about the task of the call. */
function finalOf(response: Message, { isCancelled }: KnownTask, id: string): Message {
  if (response.value.error !== undefined) return response;
  return withoutResultType(finalAnswer(response, isCancelled, id));
}

/** Whether the server can execute a call only as a task (SEP-2663, Capability Negotiation). */
function requiresTasks({ value: { error } }: Message): boolean {
  const { requiredCapabilities } = isObject(error?.data) ? error.data : {};
  const { extensions } = isObject(requiredCapabilities) ? requiredCapabilities : {};
  return (
    error?.code === mcpErrors.missingClientCapability &&
    isObject(extensions) &&
    extensions[tasksExtension] !== undefined
  );
}

/** Returns the result of a call that has become a task, with the text that the server has for the model in the meantime. */
function createdMessage(id: string, task: Task, { value: { result } }: Message): Message {
  const _meta = isObject(result) ? result['_meta'] : undefined;
  return resultMessage(id, { task: legacyForm(task), ...(isObject(_meta) ? { _meta } : {}) });
}

function taskMessage(request: Message, task: Task): Message {
  return resultMessage(idText(request), legacyForm(task));
}
