import type table from './word-meanings.json';

/** Where the words of a text point together: a vector of length 1. The more similar two texts, the smaller the angle. */
export type Meaning = Float64Array;

/**
 * The meanings of 16,000 English word stems: texts about the same thing are similar, although they share no word.
 * `scripts/word-meanings/README.md` says where they come from.
 */
export class WordMeanings {
  /** A multiple of four. */
  readonly dimensions: number;
  /** The place of each stem in the table. */
  readonly #places: ReadonlyMap<string, number>;
  /** How much a stem says: little if most texts contain it. */
  readonly #weights: Uint8Array;
  /** Two numbers from -7 to 7 in each byte, the first one in the lower half, increased by 8. */
  readonly #vectors: Uint8Array;

  constructor({ dimensions, stems, weights, vectors }: typeof table) {
    this.dimensions = dimensions;
    this.#places = new Map(stems.split(' ').map((stem, place) => [stem, place]));
    this.#weights = Buffer.from(weights, 'base64');
    this.#vectors = Buffer.from(vectors, 'base64');
  }

  /** Returns the meaning of a text from its stems, or undefined if none is known. A factor says how much a stem counts. */
  of(stems: Iterable<readonly [stem: string, factor: number]>): Meaning | undefined {
    const sum = new Float64Array(this.dimensions);
    for (const [stem, factor] of stems) {
      const place = this.#places.get(stem);
      if (place !== undefined) this.#add(sum, place, factor);
    }
    const length = Math.hypot(...sum);
    return length === 0 ? undefined : sum.map((part) => part / length);
  }

  #add(sum: Meaning, place: number, factor: number): void {
    const weight = factor * (this.#weights[place] ?? 0);
    const half = this.dimensions / 2;
    for (let at = 0; at < half; at++) {
      const byte = this.#vectors[place * half + at] ?? 0;
      sum[2 * at] = (sum[2 * at] ?? 0) + weight * ((byte & 15) - 8);
      sum[2 * at + 1] = (sum[2 * at + 1] ?? 0) + weight * ((byte >> 4) - 8);
    }
  }
}

let read: Promise<WordMeanings> | undefined;

/** Returns the table, which is read when the first index is built: most daemons have none. */
export async function wordMeanings(): Promise<WordMeanings> {
  read ??= readTable();
  try {
    return await read;
  } catch (error) {
    read = undefined; // the program may be replaced at this moment, so the next index tries again
    throw error;
  }
}

async function readTable(): Promise<WordMeanings> {
  const { default: content } = await import('./word-meanings.json', { with: { type: 'json' } });
  return new WordMeanings(content);
}

/** The meanings of many texts, side by side in memory. */
export class Meanings {
  readonly #dimensions: number;
  readonly #vectors: Float64Array;

  /** All texts mean nothing at first. */
  constructor(size: number, dimensions: number) {
    this.#dimensions = dimensions;
    this.#vectors = new Float64Array(size * dimensions); // computes faster than with 32 bits
  }

  set(at: number, meaning: Meaning | undefined): void {
    if (meaning !== undefined) this.#vectors.set(meaning, at * this.#dimensions);
  }

  /**
   * Returns the cosine of the angle between a meaning and the one of a text: 1 for the same one, and about 0 for texts
   * without a relation.
   */
  similarity(text: number, meaning: Meaning): number {
    const vectors = this.#vectors;
    const start = text * this.#dimensions;
    // Four sums do not wait for each other.
    let [one, two, three, four] = [0, 0, 0, 0];
    for (let part = 0; part < this.#dimensions; part += 4) {
      one += (meaning[part] ?? 0) * (vectors[start + part] ?? 0);
      two += (meaning[part + 1] ?? 0) * (vectors[start + part + 1] ?? 0);
      three += (meaning[part + 2] ?? 0) * (vectors[start + part + 2] ?? 0);
      four += (meaning[part + 3] ?? 0) * (vectors[start + part + 3] ?? 0);
    }
    return one + two + three + four;
  }
}
