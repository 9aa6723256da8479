import { chainStart, hashOf, previousOf } from './chain.ts';

/** A chain of the records of one process in a pod. */
export interface PodChain {
  pod: string;
  chain: string;
  /** The number of the first record that was read. Earlier ones are in other files, or were removed. */
  first: number;
  records: number;
  /** The number and the reason of the first record that does not continue its predecessor. */
  broken?: { number: number; reason: string };
}

interface Link extends PodChain {
  last: number;
  hash: string;
}

/** Verifies the chains of several pods, whose lines can be in any order of the pods and between other lines. */
export class PodChains {
  readonly #links = new Map<string, Link>();

  /** Takes a line of a log. Lines that are not audit records of a pod are ignored. */
  add(line: string): void {
    const previous = previousOf(line);
    const place = previous === undefined ? undefined : placeOf(line);
    if (previous === undefined || place === undefined) return;
    const { pod, chain, number } = place;
    const key = JSON.stringify([pod, chain]);
    const known = this.#links.get(key);
    const link: Link = known ?? { pod, chain, first: number, records: 0, last: number - 1, hash: previous };
    this.#links.set(key, link);
    const isStart = number === 1 && previous !== chainStart;
    const reason =
      number !== link.last + 1
        ? `record ${link.last + 1} is missing`
        : previous !== link.hash || isStart
          ? 'the record does not continue the preceding record'
          : undefined;
    if (reason !== undefined) link.broken ??= { number, reason };
    link.records += 1;
    link.last = number;
    link.hash = hashOf(line);
  }

  /** The chains that were read, in the order of their first records. */
  chains(): PodChain[] {
    return [...this.#links.values()].map(({ last: _last, hash: _hash, ...chain }) => chain);
  }
}

function placeOf(line: string): { pod: string; chain: string; number: number } | undefined {
  try {
    const { pod, chain, number } = JSON.parse(line) as Record<string, unknown>;
    return typeof pod === 'string' && typeof chain === 'string' && Number.isSafeInteger(number)
      ? { pod, chain, number: number as number }
      : undefined;
  } catch {
    return undefined;
  }
}
