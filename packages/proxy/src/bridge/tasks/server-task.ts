import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Call, ServerConnection } from '../../connection/connection.ts';
import type { Watcher } from '../../connection/pooled-connection.ts';
import { errorCodes, isObject, replaceAt, spanOf } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { relatedTask } from '../../protocol/extensions.ts';
import { isOffered } from '../../protocol/protocol.ts';
import type { ClientIdentity } from '../../protocol/protocol.ts';
import { askServer, orAborted } from '../../connection/ask-server.ts';
import { isOver, readTask, relatedTo } from './forms.ts';
import type { PollLimits, Task } from './forms.ts';

/** How many requests of the server may be unanswered in one task. */
const maxInputs = 100;
/** How long to wait for the requests of a server that wants to know something. */
const inputWaitMs = 2_000;

export interface ServerTaskOptions extends PollLimits {
  /** The IDs of the client and of the server. */
  id: string;
  serverId: string;
  connection: ServerConnection;
  client: ClientIdentity;
  /** Who may not have more tasks than others. */
  principal: string;
  /** How long a client may be silent until others may take the place of the connection. */
  followedMs: number;
  /** Whether the task can be found again over another connection. */
  isResumable: boolean;
  now: () => number;
  /** Told that the connection has ended. */
  onLost: (reason: string) => void;
}

/** A task, as its server describes it. */
export interface TaskDetail {
  task: Task;
  /** The members for the status, as JSON text, so that the server's numbers stay exact. */
  members: string;
}

/** The server answered a request about a task with an error. */
export class TaskRefusal extends Error {
  readonly response: Message;

  constructor(response: Message) {
    super('the server refused');
    this.response = response;
  }
}

/**
 * A task of a legacy server, for a modern client. The server asks and answers in the course of `tasks/result` (MCP
 * 2025-11-25, Tasks, Input Required Status), the client gets everything with `tasks/get` (SEP-2663, Task Polling).
 */
export class ServerTask implements Watcher {
  readonly principal: string;
  readonly sinceMs: number;
  seenMs: number;
  /** The latest description by the server. */
  last: Task | undefined;
  readonly #options: ServerTaskOptions;
  readonly #over = new AbortController();
  /** The requests of the server that the client has not answered, by their keys. */
  readonly #inputs = new Map<string, Message>();
  #asked = Promise.withResolvers<void>();
  #result: Promise<Message> | undefined;

  constructor(options: ServerTaskOptions) {
    this.#options = options;
    this.principal = options.principal;
    this.sinceMs = options.now();
    this.seenMs = this.sinceMs;
  }

  get id(): string {
    return this.#options.id;
  }

  get isRunning(): boolean {
    return this.last === undefined || !isOver(this.last);
  }

  get isFollowed(): boolean {
    return this.isRunning && !this.#options.isResumable && this.#isPolled;
  }

  /** Asks the server about the task. Throws `TaskRefusal` if the server answers with an error. */
  async detail(signal: AbortSignal): Promise<TaskDetail> {
    this.seenMs = this.#options.now();
    const { value } = await this.#ask('tasks/get', signal);
    const task = this.remember(value.result);
    if (isOver(task)) return this.#final(task, signal);
    if (task.status === 'input_required' && this.#inputs.size === 0) await this.#inputsOf(signal);
    if (this.#inputs.size === 0) return { task: { ...task, status: 'working' }, members: '' };
    const requests = this.#inputs
      .entries()
      .map(([key, { value: asked }]) => [
        key,
        { method: asked.method, params: withoutRelation(asked.params) },
      ]);
    const members = `,"inputRequests":${JSON.stringify(Object.fromEntries(requests))}`;
    return { task: { ...task, status: 'input_required' }, members };
  }

  /** Takes a description of the task from the server. Throws for anything else. */
  remember(said: unknown): Task {
    this.last = { ...readTask(said, this.#options), taskId: this.id };
    return this.last;
  }

  /** Gives the server the client's answers. Answers to anything else are ignored (SEP-2663, Task Update Requests). */
  update(inputResponses: Record<string, unknown>): void {
    const { connection, serverId } = this.#options;
    for (const [key, request] of this.#inputs) {
      const answer = Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined;
      if (!isObject(answer)) continue;
      this.#inputs.delete(key);
      const before = isObject(answer['_meta']) ? answer['_meta'] : {};
      const _meta = { ...before, [relatedTask]: { taskId: serverId } };
      connection.respond(request, { result: { ...answer, _meta } });
    }
  }

  /** Cancels the task. For the client it makes no difference that the task was over already. */
  async cancel(signal: AbortSignal): Promise<void> {
    this.seenMs = this.#options.now();
    try {
      this.remember((await this.#ask('tasks/cancel', signal)).value.result);
    } catch (error) {
      if (!(error instanceof TaskRefusal)) throw error;
      const { value } = await this.#ask('tasks/get', signal); // throws for a task that is unknown
      if (!isOver(this.remember(value.result))) throw error;
    }
  }

  asked(request: Message, call: Call | undefined): boolean {
    const { connection, client, serverId } = this.#options;
    const related = relatedTo(request);
    const isOfResult = call?.request.value.method === 'tasks/result' && call.caller === this;
    if (related === undefined ? !isOfResult : related !== serverId) return false;
    if (!isOffered(client, request.value.method ?? '')) connection.decline(request);
    else if (this.#inputs.size >= maxInputs) {
      const message = 'the client has not answered the earlier requests';
      connection.respond(request, { error: { code: errorCodes.serverError, message } });
    } else {
      this.#inputs.set(randomUUID().slice(0, 8), request); // unique, also after a restart of the proxy
      this.#asked.resolve();
    }
    return true;
  }

  lost(reason: string): void {
    this.end(reason);
    this.#options.onLost(reason);
  }

  /** Stops waiting for the server. */
  end(reason: string): void {
    this.#over.abort(new Error(reason));
  }

  get #isPolled(): boolean {
    const { followedMs, now } = this.#options;
    return now() - this.seenMs < followedMs;
  }

  async #final(task: Task, signal: AbortSignal): Promise<TaskDetail> {
    if (task.status === 'cancelled') return { task, members: '' };
    const { text, value } = await this.#resultOf(signal);
    const { error, result } = value;
    if (error !== undefined)
      return { task: { ...task, status: 'failed' }, members: `,"error":${JSON.stringify(error)}` };
    if (!isObject(result)) throw new Error('a task of the server has no result');
    // A tool that fails has a result (SEP-2663, Task Execution Errors).
    const renamed = spanOf(text, ['result', '_meta', relatedTask, 'taskId']);
    const own = renamed === undefined ? text : replaceAt(text, renamed, JSON.stringify(this.id));
    const [start, end] = spanOf(own, ['result']) ?? [0, 0];
    return { task: { ...task, status: 'completed' }, members: `,"result":${own.slice(start, end)}` };
  }

  /** Waits a moment for the requests that the server wants answers to. */
  async #inputsOf(signal: AbortSignal): Promise<void> {
    this.#asked = Promise.withResolvers();
    const settled = new AbortController();
    const late = delay(inputWaitMs, undefined, { signal: settled.signal, ref: false }).catch(() => {});
    const ended = this.#resultOf(signal).catch(() => {}); // the next poll shows the reason
    await Promise.race([this.#asked.promise, ended, late]);
    settled.abort();
  }

  /** The server answers at the end of the task, and meanwhile asks the client. */
  #resultOf(signal: AbortSignal): Promise<Message> {
    if (this.#result === undefined) {
      const isAwaited = (): boolean => this.#isPolled;
      const options = { signal: this.#over.signal, caller: this, isAwaited };
      const asking = askServer(this.#options.connection, this.#about('tasks/result'), options);
      this.#result = asking.finally(() => {
        this.#result = undefined;
      });
      this.#result.catch(() => {}); // perhaps nothing waits when the connection ends
    }
    return orAborted(this.#result, signal);
  }

  async #ask(method: string, signal: AbortSignal): Promise<Message> {
    const response = await askServer(this.#options.connection, this.#about(method), { signal });
    if (response.value.error !== undefined) throw new TaskRefusal(response);
    return response;
  }

  #about(method: string): { method: string; params: Record<string, unknown> } {
    return { method, params: { taskId: this.#options.serverId } };
  }
}

/** The server's ID of the task means nothing to the client. */
function withoutRelation(params: Message['value']['params'] = {}): object {
  const { _meta, ...others } = params;
  const { [relatedTask]: _related, ...more } = _meta ?? {};
  return Object.keys(more).length === 0 ? others : { ...others, _meta: more };
}
