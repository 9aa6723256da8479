import type { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { DaemonEvent } from '@toolhive/contract/event';
import type { Sent } from '@toolhive/contract/operation';
import type { Logger } from 'pino';
import { openRecoverable } from '@toolhive/state/recoverable-database';
import { Backlog } from '@toolhive/contract/backlog';

/** How many events are remembered for those who come back. */
const remembered = 10_000;
/** How many are taken beyond that before the oldest go. */
const slack = 1_000;
/** How many events may wait for one watcher. A watcher that falls further behind must read everything again. */
const maxWaiting = 10_000;
const maxWatchers = 256;

type WithoutTime<Event> = Event extends unknown ? Omit<Event, 'at'> : never;
/** An event whose time is now. */
export type EventToSend = WithoutTime<DaemonEvent>;

/**
 * All changes in order, with increasing IDs that continue after a restart, so that a watcher can resume. The events
 * are stored in SQLite. After a power failure, watchers receive a `reset` for lost events.
 */
export class Events implements Disposable {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #after: StatementSync;
  readonly #prune: StatementSync;
  readonly #log: Logger;
  readonly #watchers = new Set<Backlog<Sent<DaemonEvent>>>();
  #first: number;
  #last: number;

  private constructor(database: DatabaseSync, log: Logger) {
    this.#database = database;
    this.#log = log;
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL) STRICT;
    `);
    this.#insert = database.prepare('INSERT INTO events (id, event) VALUES (?, ?)');
    this.#after = database.prepare('SELECT id, event FROM events WHERE id > ? ORDER BY id');
    this.#prune = database.prepare('DELETE FROM events WHERE id <= ?');
    const ends = database.prepare('SELECT min(id) AS first, max(id) AS last FROM events').get();
    this.#first = Number(ends?.['first'] ?? 1);
    this.#last = Number(ends?.['last'] ?? 0);
  }

  /**
   * A file that is damaged is set aside: past events are worth less than the daemon. Where none can be written, events
   * are remembered only until the daemon ends.
   */
  static async open(path: string, log: Logger): Promise<Events> {
    return openRecoverable(path, {
      log,
      use: (database) => new Events(database, log),
      inMemory: 'events are remembered only until the daemon ends',
    });
  }

  /**
   * Notifies the watchers. The change has already happened, so watchers receive the event even if it cannot be saved.
   */
  emit(event: EventToSend): void {
    const timed: DaemonEvent = { ...event, at: new Date().toISOString() };
    this.#last += 1;
    try {
      this.#insert.run(this.#last, JSON.stringify(timed));
      if (this.#last - this.#first >= remembered + slack) {
        this.#first = this.#last - remembered;
        this.#prune.run(this.#first - 1);
      }
    } catch (error) {
      this.#log.error({ why: messageOf(error) }, 'event could not be saved');
      this.#first = this.#last + 1; // those who come back for this one or an earlier one get a reset
    }
    for (const watcher of this.#watchers) watcher.take({ id: String(this.#last), event: timed });
  }

  /**
   * All events after this ID, or all future events without an ID, until the signal aborts. If some of these events
   * are no longer stored, the first event is a `reset`.
   */
  watch(afterId: string | undefined, signal: AbortSignal): AsyncGenerator<Sent<DaemonEvent>, void, void> {
    // Here and not in the generator, which begins only after the caller was answered that all is well.
    if (this.#watchers.size >= maxWatchers) {
      throw unavailable(`${maxWatchers} callers already watch events`, {
        hint: 'close one of these clients',
      });
    }
    return this.#watched(afterId, signal);
  }

  async *#watched(
    afterId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Sent<DaemonEvent>, void, void> {
    const watcher = new Backlog<Sent<DaemonEvent>>(maxWaiting);
    const giveUp = (): void => watcher.end();
    signal.addEventListener('abort', giveUp, { once: true });
    this.#watchers.add(watcher);
    try {
      if (signal.aborted) return;
      if (afterId !== undefined) yield* this.#missed(afterId);
      for (;;) {
        const next = await watcher.next();
        if (next === 'over') return;
        yield next === 'too slow' ? this.#reset() : next;
      }
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', giveUp);
    }
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.end();
    this.#database.close();
  }

  /** Read synchronously, so that the watcher misses no later event. */
  #missed(afterId: string): Sent<DaemonEvent>[] {
    const after = /^\d{1,15}$/.test(afterId) ? Number(afterId) : -1;
    if (after < this.#first - 1 || after > this.#last) return [this.#reset()];
    return this.#after.all(after).map((row) => ({
      id: String(row['id']),
      event: JSON.parse(String(row['event'])) as DaemonEvent, // written by `emit`
    }));
  }

  #reset(): Sent<DaemonEvent> {
    return { id: String(this.#last), event: { type: 'reset', at: new Date().toISOString() } };
  }
}
