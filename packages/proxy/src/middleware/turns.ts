import { setImmediate as nextTurn } from 'node:timers/promises';
import { SerialQueue } from '@toolhive/contract/serial-queue';

/** How long things are examined before everything else gets its turn. */
const turnMs = 4;

/** Examines lists that others write, of any length, without keeping the daemon from everything else. */
export class Turns {
  /** One long list after the other, so that several ones take no more of the time. */
  readonly #long = new SerialQueue();

  /** Returns the first thing that is wanted, at once if there is time. */
  find<Thing>(
    things: readonly Thing[],
    isWanted: (thing: Thing) => boolean,
  ): Thing | undefined | Promise<Thing | undefined> {
    const rest = things.values();
    let found: Thing | undefined;
    /** Whether everything that is necessary was examined. */
    const examine = (): boolean => {
      const startedMs = performance.now();
      for (let next = rest.next(); next.done !== true; next = rest.next()) {
        if (isWanted(next.value)) {
          found = next.value;
          return true;
        }
        if (performance.now() - startedMs >= turnMs) return false;
      }
      return true;
    };
    if (examine()) return found;
    return this.#long.run(async () => {
      do await nextTurn();
      while (!examine());
      return found;
    });
  }

  /** Returns the things that are kept, at once if there is time. */
  filter<Thing>(things: readonly Thing[], isKept: (thing: Thing) => boolean): Thing[] | Promise<Thing[]> {
    const kept: Thing[] = [];
    const examined = this.find(things, (thing) => {
      if (isKept(thing)) kept.push(thing);
      return false;
    });
    return examined instanceof Promise ? examined.then(() => kept) : kept;
  }
}
