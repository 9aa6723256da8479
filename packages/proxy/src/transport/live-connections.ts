import type { Dispatcher } from 'undici';
import { pauses as pausesOfProcess } from './pauses.ts';
import type { Pauses } from './pauses.ts';

/** After how long a pause routers and servers elsewhere have forgotten open connections, too. */
const forgottenMs = 5 * 60_000;

/** How many dispatchers with open requests from before a pause are kept. Their idle connections end by themselves. */
const maxOld = 8;

/** Where requests are sent. */
export interface Connections {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown;
}

/**
 * Sends requests over connections that the server has not given up. A server closes an idle connection after some seconds, and
 * the client a second earlier, unless it does not run at that time. After a sleep of the machine, routers have forgotten
 * connections without telling either side: a call over one of them would never be answered, and a stream would be silent
 * forever. So after each pause of this process, new connections are opened, and after a long one, those to a server elsewhere
 * are closed.
 */
export class LiveConnections implements Connections {
  readonly #open: () => Dispatcher;
  readonly #isElsewhere: boolean;
  readonly #pauses: Pauses;
  readonly #unwatch: () => void;
  #dispatcher: Dispatcher;
  /** The dispatchers from before a pause, which may have open requests. A closed one could no longer be destroyed. */
  readonly #old: Dispatcher[] = [];

  constructor(
    open: () => Dispatcher,
    { isElsewhere, pauses = pausesOfProcess }: { isElsewhere: boolean; pauses?: Pauses },
  ) {
    this.#open = open;
    this.#isElsewhere = isElsewhere;
    this.#pauses = pauses;
    this.#dispatcher = open();
    this.#unwatch = pauses.watch((durationMs) => this.#replace(durationMs));
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#pauses.look();
    this.#dispatcher.dispatch(options, handler);
  }

  /** Ends all requests with an error. */
  async destroy(): Promise<void> {
    this.#unwatch();
    await Promise.all([this.#dispatcher, ...this.#old].map((dispatcher) => dispatcher.destroy()));
  }

  /** Open requests end on their own connections, unless these are gone. */
  #replace(pauseMs: number): void {
    const old = this.#dispatcher;
    try {
      this.#dispatcher = this.#open();
    } catch {
      return; // the watch has many listeners, of which none may fail. Requests over the old connections say the reason
    }
    if (this.#isElsewhere && pauseMs >= forgottenMs) {
      const minutes = Math.round(pauseMs / 60_000);
      const lost = new Error(`the connection was lost while this machine slept for ${minutes} minutes`);
      old.destroy(lost).catch(() => {}); // it was destroyed
      return;
    }
    this.#old.push(old);
    if (this.#old.length > maxOld)
      this.#old
        .shift()
        ?.close()
        .catch(() => {}); // as above
  }
}
