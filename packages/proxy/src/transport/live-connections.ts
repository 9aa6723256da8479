import type { Dispatcher } from 'undici';
import { pauses as pausesOfProcess } from './pauses.ts';
import type { Pauses } from './pauses.ts';

/** Where requests are sent. */
export interface Connections {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown;
}

/**
 * Sends requests over connections that the server has not given up. A server closes an idle connection after some seconds, and
 * the client a second earlier, unless it does not run at that time. After a sleep of the machine, routers have forgotten
 * connections without telling either side, and a call over one of them would never be answered. So after each pause of this
 * process, new connections are opened.
 */
export class LiveConnections implements Connections {
  readonly #open: () => Dispatcher;
  readonly #pauses: Pick<Pauses, 'count' | 'watch'>;
  readonly #unwatch: () => void;
  #dispatcher: Dispatcher;
  #seen: number;

  constructor(open: () => Dispatcher, pauses: Pick<Pauses, 'count' | 'watch'> = pausesOfProcess) {
    this.#open = open;
    this.#pauses = pauses;
    this.#unwatch = pauses.watch();
    this.#dispatcher = open();
    this.#seen = pauses.count;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const { count } = this.#pauses;
    if (count !== this.#seen) {
      this.#seen = count;
      this.#replace();
    }
    this.#dispatcher.dispatch(options, handler);
  }

  /** Ends all requests with an error. */
  async destroy(): Promise<void> {
    this.#unwatch();
    await this.#dispatcher.destroy();
  }

  /** Open requests end on their own connections. */
  #replace(): void {
    const old = this.#dispatcher;
    this.#dispatcher = this.#open();
    old.close().catch(() => {}); // it was destroyed
  }
}
