import MiniSearch, { type AsPlainObject } from 'minisearch';
import { expect, test } from 'vitest';
import { packWords, UnpackedIndex } from './packed.ts';

const documents = [
  { title: 'Keep secrets', text: 'Secrets are kept, and secrets stay secrets.' },
  { title: '', text: 'Nothing of the kind' },
  { title: 'Größe 日本語', text: '' },
  ...Array.from({ length: 40 }, (_, at) => ({
    title: `Part ${at}`,
    text: at % 7 === 0 ? 'secrets' : 'other',
  })),
  { title: 'The end', text: 'kept for last'.repeat(50) },
].map((one, id) => ({ id, ...one }));

function indexOf(all: readonly { id: number; title: string; text: string }[]): AsPlainObject {
  const index = new MiniSearch({ fields: ['title', 'text'] });
  index.addAll([...all]);
  // As it is written to a file: no number is a key then.
  return JSON.parse(JSON.stringify(index)) as AsPlainObject;
}

test('what is unpacked is what was packed', () => {
  const index = indexOf(documents);

  const unpacked = JSON.parse(JSON.stringify(new UnpackedIndex(packWords(index)))) as AsPlainObject;

  const { averageFieldLength: averages, storedFields: _, ...rest } = unpacked;
  const { averageFieldLength: realAverages, storedFields: __, ...real } = index;
  expect(inOrder(rest)).toStrictEqual(inOrder(real));
  for (const [field, average] of averages.entries()) expect(average).toBeCloseTo(realAverages[field]!, 9);
});

/** Which word comes before which says nothing. */
function inOrder<T extends Pick<AsPlainObject, 'index'>>(index: T): T {
  return { ...index, index: index.index.toSorted(([one], [other]) => (one < other ? -1 : 1)) };
}

test('what is unpacked is searched as before', () => {
  const index = indexOf(documents);
  const options = { prefix: true, fuzzy: 0.2 };
  const before = MiniSearch.loadJS(structuredClone(index), { fields: ['title', 'text'] }).search(
    'secrets kep',
    options,
  );

  const after = new UnpackedIndex(packWords(index)).search('secrets kep', options);

  expect(after).toStrictEqual(before);
  expect(after.length).toBeGreaterThan(3);
});

test('a site without a word can be packed', () => {
  const unpacked = new UnpackedIndex(packWords(indexOf([])));

  expect(unpacked.search('secrets')).toStrictEqual([]);
});
