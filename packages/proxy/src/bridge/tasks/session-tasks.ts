import { isOver } from './forms.ts';
import type { Task } from './forms.ts';

/** How many tasks of one session may be under way, and how many are remembered with those that are over. */
export const maxUnfinished = 100;
const maxKnown = 200;
/** How many requests of one session may wait for the ends of tasks. */
const maxWaiting = 100;
/** How many tasks one page of a list has. */
const pageSize = 20;

/** A task that a client knows of. */
export interface KnownTask {
  /** The latest description by the server. */
  task: Task;
  readonly sinceMs: number;
  /** The client has canceled the task. That is final for the client, whatever the server still does. */
  isCancelled: boolean;
  /** The requests of the server that the client was asked, by their keys. */
  readonly asked: Set<string>;
}

/** The tasks of one legacy client's session, and the requests that wait for their ends. */
export class SessionTasks {
  readonly #tasks = new Map<string, KnownTask>();
  readonly #waiting = new Map<string | number, AbortController>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The IDs of the tasks that have not ended. */
  get unfinished(): ReadonlySet<string> {
    this.#expire();
    const open = this.#tasks.values().filter(({ task }) => !isOver(task));
    return new Set(open.map(({ task }) => task.taskId));
  }

  /** Whether too many tasks have not ended. */
  get areTooMany(): boolean {
    return this.unfinished.size >= maxUnfinished;
  }

  find(id: string): KnownTask | undefined {
    this.#expire();
    return this.#tasks.get(id);
  }

  /** Remembers a task in its latest state. */
  update(task: Task): KnownTask {
    const before = this.#tasks.get(task.taskId);
    if (before !== undefined) {
      before.task = before.isCancelled ? { ...task, status: 'cancelled' } : task;
      return before;
    }
    const known = { task, sinceMs: this.#now(), isCancelled: false, asked: new Set<string>() };
    this.#tasks.set(task.taskId, known);
    if (this.#tasks.size > maxKnown) {
      const [first] = this.#tasks.values();
      const oldest = this.#tasks.values().find((other) => isOver(other.task)) ?? first;
      if (oldest !== undefined) this.#tasks.delete(oldest.task.taskId);
    }
    return known;
  }

  forget(id: string): void {
    this.#tasks.delete(id);
  }

  /** Returns a page of the tasks. Undefined for an unknown cursor. */
  page(cursor: unknown): { tasks: KnownTask[]; nextCursor: string | undefined } | undefined {
    this.#expire();
    const ids = [...this.#tasks.keys()];
    const start = typeof cursor === 'string' ? ids.indexOf(cursor) + 1 : 0;
    if (cursor !== undefined && start === 0) return undefined;
    const listed = ids.slice(start, start + pageSize);
    return {
      tasks: listed.flatMap((id) => this.#tasks.get(id) ?? []),
      nextCursor: start + pageSize < ids.length ? listed.at(-1) : undefined,
    };
  }

  /** Begins to wait on behalf of a request. Undefined if too many requests wait. */
  wait(request: string | number): AbortController | undefined {
    if (this.#waiting.size >= maxWaiting) return undefined;
    const waiting = new AbortController();
    this.#waiting.set(request, waiting);
    return waiting;
  }

  ended(request: string | number, waiting: AbortController): void {
    if (this.#waiting.get(request) === waiting) this.#waiting.delete(request);
  }

  /** Ends the waiting of a request. Returns whether the request waited. */
  stop(request: string | number, reason: string): boolean {
    const waiting = this.#waiting.get(request);
    waiting?.abort(new Error(reason));
    return waiting !== undefined;
  }

  stopAll(reason: string): void {
    for (const waiting of this.#waiting.values()) waiting.abort(new Error(reason));
  }

  /** Forgets tasks that their server may have forgotten (MCP 2025-11-25, Tasks, TTL and Resource Management). */
  #expire(): void {
    for (const [id, { task, sinceMs }] of this.#tasks)
      if (task.ttlMs !== null && sinceMs + task.ttlMs < this.#now()) this.#tasks.delete(id);
  }
}
