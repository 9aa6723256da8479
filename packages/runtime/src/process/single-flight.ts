import { cancelled } from '@toolhive/contract/failure';
import type { PrepareOptions, Progress } from '../runtime.ts';

interface Flight<Result> {
  result: Promise<Result>;
  controller: AbortController;
  listeners: Set<Progress>;
}

/**
 * Work that several callers ask for at once and that is done once for all of them. It is aborted when the last
 * of them has given up; that one returns when the work has cleaned up behind itself.
 */
export class SingleFlight<Result> {
  readonly #flights = new Map<string, Flight<Result>>();

  async do(
    key: string,
    work: (options: PrepareOptions) => Promise<Result>,
    { report, signal }: PrepareOptions,
  ): Promise<Result> {
    if (signal.aborted) throw cancelled('the preparation was cancelled');
    const flight = this.#flights.get(key) ?? this.#takeOff(key, work);
    const listener: Progress = (message) => report(message); // one of its own, even if two callers share a function
    flight.listeners.add(listener);
    const aborted = Promise.withResolvers<void>();
    const giveUp = () => aborted.resolve();
    signal.addEventListener('abort', giveUp);
    try {
      await Promise.race([flight.result, aborted.promise]);
      if (signal.aborted) this.#leave(key, flight);
      return await flight.result;
    } finally {
      signal.removeEventListener('abort', giveUp);
      flight.listeners.delete(listener);
    }
  }

  #leave(key: string, flight: Flight<Result>): void {
    if (flight.listeners.size > 1) throw cancelled('the preparation was cancelled');
    this.#flights.delete(key); // whoever asks now starts anew
    flight.controller.abort();
  }

  #takeOff(key: string, work: (options: PrepareOptions) => Promise<Result>): Flight<Result> {
    const controller = new AbortController();
    const listeners = new Set<Progress>();
    const report: Progress = (message) => listeners.forEach((listener) => listener(message));
    const result = work({ report, signal: controller.signal });
    const flight = { result, controller, listeners };
    this.#flights.set(key, flight);
    const land = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    result.then(land, land);
    return flight;
  }
}
