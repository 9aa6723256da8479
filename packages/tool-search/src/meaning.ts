import type table from './word-meanings.json';

/** Where the words of a text point together: a vector of length 1. The more similar two texts, the smaller the angle. */
export type Meaning = Float32Array;

/**
 * The meanings of 16,000 English word stems: texts about the same thing are similar, although they share no word.
 * `scripts/word-meanings/README.md` says where they come from.
 */
export class WordMeanings {
  readonly #dimensions: number;
  /** The place of each stem in the table. */
  readonly #places: ReadonlyMap<string, number>;
  /** How much a stem says: little if most texts contain it. */
  readonly #weights: Uint8Array;
  /** Two numbers from -7 to 7 in each byte, the first one in the lower half, increased by 8. */
  readonly #vectors: Uint8Array;

  constructor({ dimensions, stems, weights, vectors }: typeof table) {
    this.#dimensions = dimensions;
    this.#places = new Map(stems.split(' ').map((stem, place) => [stem, place]));
    this.#weights = Buffer.from(weights, 'base64');
    this.#vectors = Buffer.from(vectors, 'base64');
  }

  /** Returns the meaning of a text from its stems, or undefined if none is known. A factor says how much a stem counts. */
  of(stems: Iterable<readonly [stem: string, factor: number]>): Meaning | undefined {
    const sum = new Float32Array(this.#dimensions);
    for (const [stem, factor] of stems) {
      const place = this.#places.get(stem);
      if (place !== undefined) this.#add(sum, place, factor);
    }
    const length = Math.sqrt(similarity(sum, sum));
    return length === 0 ? undefined : sum.map((part) => part / length);
  }

  #add(sum: Float32Array, place: number, factor: number): void {
    const weight = factor * (this.#weights[place] ?? 0);
    const half = this.#dimensions / 2;
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

/** Returns the cosine of the angle between two meanings: 1 for the same one, and about 0 for texts without a relation. */
export function similarity(one: Meaning, other: Meaning): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0);
  return sum;
}
