// Splits sentences into the stems of the search: `node stems.ts OUTPUT.json SENTENCES.txt...`. See `README.md`.
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { stemOf, termsOf, wordsOf } from '@toolhive/tool-search/terms';

const [output = 'sentences.json', ...files] = process.argv.slice(2);
const perFile = 50_000;
const known = 40_000;

/** How frequent each stem is, as the sum over the files, so that a large file does not decide alone. */
const frequencies = new Map<string, number>();
const forms = new Map<string, Map<string, number>>();
const sentences: { text: string; stems: string[] }[] = [];

for (const file of files) {
  const lines = new Set(readFileSync(file, 'utf8').split('\n').filter(isSentence));
  for (const text of lines) {
    for (const stem of new Set(termsOf(text)))
      frequencies.set(stem, (frequencies.get(stem) ?? 0) + 1 / lines.size);
    for (const word of new Set(wordsOf(text))) {
      const ofStem = forms.get(stemOf(word)) ?? new Map<string, number>();
      forms.set(stemOf(word), ofStem.set(word, (ofStem.get(word) ?? 0) + 1));
    }
  }
  const mixed = [...lines].map((text) => ({ text, key: hash('sha256', text) }));
  mixed.sort((one, other) => (one.key < other.key ? -1 : 1));
  for (const { text } of mixed.slice(0, perFile))
    sentences.push({ text, stems: [...new Set(termsOf(text))] });
}

const stems = [...frequencies]
  .filter(([stem]) => /^[a-z]{2,}$/.test(stem))
  .toSorted(([, one], [, other]) => other - one)
  .slice(0, known)
  .map(([stem, frequency]) => ({ stem, frequency: frequency / files.length, word: usualForm(stem) }));
writeFileSync(output, JSON.stringify({ stems, sentences }));

function isSentence(text: string): boolean {
  return /^[\x20-\x7e]{20,250}$/.test(text) && text.split(' ').length >= 4;
}

function usualForm(stem: string): string {
  const [usual] = [...(forms.get(stem) ?? [])].toSorted(([, one], [, other]) => other - one);
  return usual?.[0] ?? stem;
}
