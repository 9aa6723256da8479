import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

/** Rounds of chaos, and numbers that are the same for the same seed. */
export interface Chaos {
  /** Plays one round after the other, and returns how many. */
  rounds: (play: () => Promise<unknown>) => Promise<number>;
  /** A whole number below `limit`. */
  pick: (limit: number) => number;
  oneOf: <Item>(items: readonly Item[]) => Item;
  /** Runs the actions after as many turns of the event loop as each of them has drawn, and waits for all of them. */
  atRandomTurns: (actions: readonly (() => unknown)[], mostTurns?: number) => Promise<void>;
}

/** How long a test with chaos may take. More rounds take longer. */
export const chaosTimeoutMs = 180_000 + Number(process.env.CHAOS_ROUNDS ?? 0) * 2_000;

/** A busy machine plays fewer rounds, and none less than one. */
const enoughMs = 60_000;

/** `CHAOS_ROUNDS` sets the number of rounds, however long they take, and `CHAOS_SEED` repeats them. */
export function openChaos(rounds: number): Chaos {
  const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`chaos: CHAOS_SEED=${seed}\n`);
  let state = seed;
  /** Mulberry32. */
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const pick = (limit: number): number => Math.floor(random() * limit);
  return {
    async rounds(play) {
      const startedMs = performance.now();
      const asked = Number(process.env.CHAOS_ROUNDS ?? 0);
      const isEnough = (round: number): boolean =>
        asked > 0 ? round === asked : round === rounds || performance.now() - startedMs > enoughMs;
      let round = 0;
      do {
        await play();
        round += 1;
      } while (!isEnough(round));
      return round;
    },
    pick,
    oneOf: <Item>(items: readonly Item[]): Item => items[pick(items.length)] as Item, // below the length
    async atRandomTurns(actions, mostTurns = 40) {
      const planned = actions.map((action) => ({ action, after: pick(mostTurns) }));
      for (let now = 0; now < mostTurns; now += 1) {
        for (const { action, after } of planned) if (after === now) action();
        // Some turns are long enough for what crosses a socket.
        await (pick(4) === 0 ? delay(pick(3)) : turn());
      }
    },
  };
}
