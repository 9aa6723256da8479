import { cancelled } from '@toolhive/contract/failure';
import type { PrepareOptions, Progress } from '../runtime.ts';

interface Flight<Result> {
  result: Promise<Result>;
  controller: AbortController;
  listeners: Set<Progress>;
}

/**
 * Shares one execution among several concurrent callers. The execution is aborted when the last caller gives up. That
 * caller returns after the cleanup.
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
    const listener: Progress = (message) => report(message); // a separate entry, even if two callers share a function
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
    this.#flights.delete(key); // later callers start a new execution
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
