import { randomUUID } from 'node:crypto';
import { isObject } from '../../jsonrpc/message.ts';
import type { Message } from '../../jsonrpc/message.ts';
import type { Task } from './forms.ts';

/** How many results are kept, how many characters of them, and how long. */
const maxKept = 1_000;
const maxChars = 32 * 1024 * 1024;
const keptMs = 60 * 60_000;

/**
 * The answers to calls that a server has executed at once, although their clients asked for tasks. Each one is the
 * result of a task that is over.
 */
export class FinishedCalls {
  readonly #kept = new Map<string, { answer: Message; owner: object; untilMs: number }>();
  readonly #now: () => number;
  #chars = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Keeps an answer. Only the owner can find the answer again. */
  add(answer: Message, owner: object): Task {
    const nowMs = this.#now();
    const taskId = `finished-${randomUUID()}`;
    this.#kept.set(taskId, { answer, owner, untilMs: nowMs + keptMs });
    this.#chars += answer.text.length;
    for (const [id, { untilMs }] of this.#kept) {
      if (untilMs > nowMs && this.#kept.size <= maxKept && this.#chars <= maxChars) break;
      this.#delete(id);
    }
    const { result } = answer.value;
    const at = new Date(nowMs).toISOString();
    return {
      taskId,
      status: isObject(result) && result['isError'] !== true ? 'completed' : 'failed',
      createdAt: at,
      lastUpdatedAt: at,
      ttlMs: keptMs,
      pollIntervalMs: 1_000,
    };
  }

  find(id: string, owner: object): Message | undefined {
    const kept = this.#kept.get(id);
    return kept?.owner === owner && kept.untilMs > this.#now() ? kept.answer : undefined;
  }

  /** Forgets the answers that belong to an owner who is gone. */
  forget(owner: object): void {
    for (const [id, kept] of this.#kept) if (kept.owner === owner) this.#delete(id);
  }

  #delete(id: string): void {
    this.#chars -= this.#kept.get(id)?.answer.text.length ?? 0;
    this.#kept.delete(id);
  }
}

/** Whether a task ID is one of those. */
export function isFinishedCall(id: string): boolean {
  return id.startsWith('finished-');
}
