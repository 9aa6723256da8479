import type { Message } from '../jsonrpc/message.ts';
import type { TasksForLegacy } from './tasks/tasks-for-legacy.ts';
import type { Session } from './session.ts';
import type { Listener, Subscriptions } from './subscriptions.ts';

/** Lets sessions without a separate connection listen to changes on the shared one. */
export class SessionListeners {
  readonly #subscriptions: Subscriptions;
  readonly #hasOwn: (session: Session) => boolean;
  readonly #tasks: TasksForLegacy;
  readonly #listeners = new Map<Session, Listener>();

  constructor(subscriptions: Subscriptions, tasks: TasksForLegacy, hasOwn: (session: Session) => boolean) {
    this.#subscriptions = subscriptions;
    this.#tasks = tasks;
    this.#hasOwn = hasOwn;
  }

  add(session: Session): void {
    const listener = new SessionListener(session, this.#tasks);
    this.#listeners.set(session, listener);
    if (!this.#hasOwn(session)) this.#subscriptions.add(listener);
  }

  delete(session: Session): void {
    const listener = this.#listeners.get(session);
    this.#listeners.delete(session);
    if (listener !== undefined) this.#subscriptions.delete(listener);
  }

  /** Adds the sessions that have no separate connection any more. */
  follow(): void {
    for (const [session, listener] of this.#listeners)
      if (!this.#hasOwn(session)) this.#subscriptions.add(listener);
  }
}

class SessionListener implements Listener {
  readonly #session: Session;
  readonly #tasks: TasksForLegacy;

  constructor(session: Session, tasks: TasksForLegacy) {
    this.#session = session;
    this.#tasks = tasks;
  }

  get uris(): ReadonlySet<string> {
    return this.#session.subscriptions;
  }

  get taskIds(): ReadonlySet<string> {
    return this.#tasks.unfinishedOf(this.#session);
  }

  changed(notification: Message): void {
    if (notification.value.method === 'notifications/tasks') this.#tasks.told(this.#session, notification);
    else this.#session.notify(notification);
  }
}
