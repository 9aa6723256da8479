import MiniSearch, { type AsPlainObject } from 'minisearch';
import { decode, encode } from 'vlq';

/**
 * Where the words of a site stand, in two thirds of the bytes that MiniSearch's own form has after it is compressed. Every
 * list of numbers is one of variable-length quantities, in Base64 as in source maps.
 */
export interface PackedWords {
  /** Every word once, with spaces between them. */
  words: string;
  /** In how many places all of them were looked for. A place is known by its number, from 0. */
  places: number;
  /** What was looked into in each place. */
  fields: Record<string, PackedField>;
}

interface PackedField {
  /** In how many places each word stands. */
  spreads: string;
  /** For each word the places, as how many were passed over since the last. */
  gaps: string;
  /** For each of them, how often again the word stands there. */
  repeats: string;
  /** How many words there are in each place. */
  lengths: string;
}

/** Packs an index whose documents have their numbers for ids, with nothing stored, and none taken out again. */
export function packWords({ index, documentCount, fieldIds, fieldLength }: AsPlainObject): PackedWords {
  const packField = (field: number): PackedField => {
    const postings = index.map(([, fields]) =>
      Object.entries(fields[field] ?? {}).map(([place, count]) => [Number(place), count] as const),
    );
    return {
      spreads: encode(postings.map(({ length }) => length)),
      gaps: encode(postings.flatMap((own) => own.map(([place], at) => place - (own[at - 1]?.[0] ?? -1) - 1))),
      repeats: encode(postings.flatMap((own) => own.map(([, count]) => count - 1))),
      lengths: encode(Array.from({ length: documentCount }, (_, place) => fieldLength[place]?.[field] ?? 0)),
    };
  };
  return {
    words: index.map(([word]) => word).join(' '),
    places: documentCount,
    fields: Object.fromEntries(Object.entries(fieldIds).map(([name, field]) => [name, packField(field)])),
  };
}

/** What was packed, to be searched: as when MiniSearch had read every place, or loaded its own form, in a third of the time. */
export class UnpackedIndex<T> extends MiniSearch<T> {
  constructor({ words, places, fields }: PackedWords) {
    super({ fields: Object.keys(fields) });
    const counts =
      words.match(/\S+/g)?.map((word) => [word, new Map<number, Map<number, number>>()] as const) ?? [];
    const lengths = Object.values(fields).map((packed) => decode(packed.lengths));
    for (const [field, packed] of Object.values(fields).entries())
      for (const [word, own] of unpackField(packed)) counts[word]![1].set(field, own);

    this._documentCount = places;
    this._nextId = places;
    this._avgFieldLength = lengths.map((all) => all.reduce((sum, one) => sum + one, 0) / Math.max(places, 1));
    for (let place = 0; place < places; place += 1) {
      this._documentIds.set(place, place);
      this._idToShortId.set(place, place);
      this._fieldLength.set(
        place,
        lengths.map((all) => all[place] ?? 0),
      );
    }
    for (const [word, own] of counts) this._index.set(word, own);
  }
}

/** For each word that a field has anywhere, by its number, how often it has it where. */
function* unpackField(packed: PackedField): Generator<[word: number, counts: Map<number, number>]> {
  const gaps = decode(packed.gaps);
  const repeats = decode(packed.repeats);
  let at = 0;
  for (const [word, spread] of decode(packed.spreads).entries()) {
    if (spread === 0) continue;
    const counts = new Map<number, number>();
    let place = -1;
    for (const end = at + spread; at < end; at += 1) {
      place += gaps[at]! + 1; // there are as many as all spreads together
      counts.set(place, repeats[at]! + 1);
    }
    yield [word, counts];
  }
}
