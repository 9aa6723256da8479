import { expect, test } from 'vitest';
import { quotePassages } from './ask.ts';
import { indexPages, openLibrary } from './library.ts';
import type { IndexedPage } from './records.ts';

const aPage = (url: string, title: string, text: string): IndexedPage => ({
  url,
  area: 'Guides',
  language: 'en',
  tag: 'default',
  about: '',
  sections: [
    { level: 1, anchor: '', title, text: '' },
    { level: 2, anchor: 'part', title: 'Part', text },
  ],
});

test('quotes the sentences that have the words of the question, word for word, with where they stand', () => {
  const text = 'Nothing to do with it. A token is kept in the store. It is encrypted there.';
  const pages = [aPage('/secrets', 'Secrets', text), aPage('/other', 'Other', 'Something else.')];
  const library = openLibrary(indexPages(pages));

  const quotes = quotePassages(library, 'Where is my token kept?');

  expect(quotes).toStrictEqual([
    {
      url: '/secrets#part',
      trail: ['Guides', 'Secrets', 'Part'],
      html: 'A <mark>token</mark> is <mark>kept</mark> in the store. It is encrypted there.',
    },
  ]);
});

test('quotes nothing when no passage has any of the words', () => {
  const library = openLibrary(indexPages([aPage('/secrets', 'Secrets', 'A token is kept.')]));

  const quotes = quotePassages(library, 'What about xylophones?');

  expect(quotes).toStrictEqual([]);
});

test('quotes markup as the text that it is, and little of what is long', () => {
  const library = openLibrary(indexPages([aPage('/t', 'T', `<b>token ${'word '.repeat(200)}`)]));

  const [quote] = quotePassages(library, 'token');

  expect(quote?.html.startsWith('&lt;b&gt;<mark>token</mark> word')).toBe(true);
  expect(quote?.html.length).toBeLessThan(400);
  expect(quote?.html.endsWith(' …')).toBe(true);
});
