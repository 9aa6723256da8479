import type { ServerConnection } from '../connection/connection.ts';

type State =
  | { kind: 'up' | 'starting'; connection: ServerConnection }
  | { kind: 'down'; reason: string; isFinal: boolean };

/** Whether a server can take requests, and the requests that wait for a server. */
export class ServerState {
  readonly #waitMs: number;
  #state: State = { kind: 'down', reason: 'the server has not started yet', isFinal: false };
  #waiting = new Set<() => void>();

  /** `waitMs` is how long a request waits for a server that is starting or restarting. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** The connection to a server that takes requests. */
  get connection(): ServerConnection | undefined {
    return this.#state.kind === 'up' ? this.#state.connection : undefined;
  }

  starting(connection: ServerConnection): void {
    this.#state = { kind: 'starting', connection };
  }

  /** Lets the waiting requests through. */
  up(connection: ServerConnection): void {
    this.#state = { kind: 'up', connection };
    this.#wake();
  }

  /** With `isFinal`, no other server is about to start, so waiting requests fail now. */
  down(reason: string, isFinal: boolean): void {
    this.#state = { kind: 'down', reason, isFinal };
    if (isFinal) this.#wake();
  }

  /** Calls `proceed` with the connection as soon as there is one, or `fail` with the reason why there is none. */
  whenUp(proceed: (connection: ServerConnection) => void, fail: (reason: string) => void): void {
    const settle = (): void => {
      if (this.#state.kind === 'up') proceed(this.#state.connection);
      else if (this.#state.kind === 'down') fail(`the server is not running: ${this.#state.reason}`);
      else fail('the server is still starting');
    };
    if (this.#state.kind === 'up' || (this.#state.kind === 'down' && this.#state.isFinal)) return settle();
    const once = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(once);
      settle();
    };
    const timer = setTimeout(once, this.#waitMs).unref();
    this.#waiting.add(once);
  }

  #wake(): void {
    const waiting = [...this.#waiting]; // without requests that start to wait during this loop
    for (const proceed of waiting) proceed();
  }
}
