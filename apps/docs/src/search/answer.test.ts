import { expect, test } from 'vitest';
import { answer, type SearchAnswer, type SearchRequest } from './answer.ts';
import { indexPages, openLibrary, type Library } from './library.ts';
import type { IndexedPage, IndexedSection } from './records.ts';

const aSection = (section: Partial<IndexedSection>): IndexedSection => ({
  level: 2,
  anchor: 'part',
  title: 'Part',
  text: '',
  ...section,
});

const aPage = ({ sections = [], ...page }: Partial<IndexedPage>): IndexedPage => ({
  url: '/page',
  area: 'Guides',
  language: 'en',
  tag: 'docs-default-current',
  about: '',
  ...page,
  sections: [aSection({ level: 1, anchor: '', title: 'Page' }), ...sections].slice(
    sections[0]?.level === 1 ? 1 : 0,
  ),
});

const secrets = aPage({
  url: '/secrets',
  sections: [
    aSection({ level: 1, anchor: '', title: 'Keep secrets', text: 'A token is stored encrypted.' }),
    aSection({ anchor: 'set', title: 'Set a secret', text: 'Type thv secret set github and the token.' }),
    aSection({ level: 3, anchor: 'pipe', title: 'From a pipe', text: 'The token can come from a pipe.' }),
  ],
});
const registry = aPage({
  url: '/registry',
  sections: [
    aSection({ level: 1, anchor: '', title: 'The registry', text: 'Lists servers. One stores a token.' }),
  ],
});

function ask(pages: readonly IndexedPage[], request: Partial<SearchRequest>): SearchAnswer {
  const library: Library = openLibrary(indexPages(pages));
  return answer(library, { indexName: 'docs', ...request }, 'https://docs.example');
}

test('answers in the shape of Algolia, with whole addresses', () => {
  const { hits, ...rest } = ask([secrets, registry], {
    query: 'pipe',
    highlightPreTag: '<mark>',
    highlightPostTag: '</mark>',
  });

  expect(rest).toStrictEqual({
    nbHits: 1,
    page: 0,
    nbPages: 1,
    hitsPerPage: 20,
    exhaustiveNbHits: true,
    query: 'pipe',
    params: 'query=pipe&page=0&hitsPerPage=20',
    index: 'docs',
    processingTimeMS: 1,
  });
  expect(hits[0]).toMatchObject({
    objectID: '/secrets#pipe',
    type: 'lvl3',
    url: 'https://docs.example/secrets#pipe',
    url_without_anchor: 'https://docs.example/secrets',
    anchor: 'pipe',
    hierarchy: {
      lvl0: 'Guides',
      lvl1: 'Keep secrets',
      lvl2: 'Set a secret',
      lvl3: 'From a pipe',
      lvl4: null,
    },
    _highlightResult: { hierarchy: { lvl3: { value: 'From a <mark>pipe</mark>', matchLevel: 'full' } } },
  });
});

test('calls it content when only the text below a heading fits', () => {
  const { hits } = ask([secrets], { query: 'github' });

  expect(hits.map(({ type, anchor }) => [type, anchor])).toStrictEqual([['content', 'set']]);
});

test.for([
  ['the beginning of a word', 'encr'],
  ['a letter too few', 'encryted'],
  ['two letters swapped', 'encrytped'],
  ['another form', 'encrypting'],
] as const)('finds %s', ([, query]) => {
  const { hits } = ask([secrets, registry], { query });

  expect(hits[0]?.objectID).toBe('/secrets#');
});

test('puts what has all words first, and looks for mistakes and for some of the words when there is hardly any', () => {
  const [all, some] = [
    ask([secrets, registry], { query: 'token encrypted' }),
    ask([secrets, registry], { query: 'token nowhere' }),
  ];

  expect(all.hits[0]?.objectID).toBe('/secrets#');
  expect(all.nbHits).toBe(4);
  expect(some.nbHits).toBe(4);
});

test('finds nothing for nothing', () => {
  const answers = [ask([secrets], { query: ' ' }), ask([secrets], { query: 'xyzzyq' })];

  expect(answers.map(({ nbHits, nbPages, hits }) => [nbHits, nbPages, hits])).toStrictEqual([
    [0, 0, []],
    [0, 0, []],
  ]);
});

test.for([
  [['language:en'], ['/new', '/old']],
  [['language:de'], ['/de']],
  ['language:de', ['/de']],
  [['language:-en'], ['/de']],
  [['language:en', ['docusaurus_tag:default', 'docusaurus_tag:docs-default-current']], ['/new']],
  [['language:en', ['docusaurus_tag:docs-default-1.0']], ['/old']],
  [[['docusaurus_tag:docs-default-1.0', 'docusaurus_tag:docs-default-current']], ['/de', '/new', '/old']],
  [['unknown:1'], []],
  [[[]], ['/de', '/new', '/old']],
] as const)('keeps to the filters %j', ([facetFilters, expected]) => {
  const pages = [
    aPage({ url: '/new' }),
    aPage({ url: '/old', tag: 'docs-default-1.0' }),
    aPage({ url: '/de', language: 'de' }),
  ];

  const { hits, nbHits } = ask(pages, { query: 'page', facetFilters });

  expect(hits.map(({ objectID }) => objectID.replace('#', '')).toSorted()).toStrictEqual(expected);
  expect(nbHits).toBe(expected.length);
});

test('gives one page after the other, each hit once', () => {
  const sections = Array.from({ length: 7 }, (_, at) => aSection({ anchor: `s${at}`, title: `Token ${at}` }));
  const library = openLibrary(indexPages([aPage({ sections })]));
  const pageOf = (page: number): ReturnType<typeof answer> =>
    answer(library, { indexName: 'docs', query: 'token', page, hitsPerPage: 3 }, 'https://docs.example');

  const pages = [0, 1, 2, 3].map(pageOf);

  expect(pages.map(({ hits }) => hits.length)).toStrictEqual([3, 3, 1, 0]);
  expect(new Set(pages.flatMap(({ hits }) => hits.map(({ objectID }) => objectID))).size).toBe(7);
  expect(pages.map(({ nbHits, nbPages }) => [nbHits, nbPages])).toStrictEqual(pages.map(() => [7, 3]));
});

test('counts without giving hits when none are wanted', () => {
  const { hits, nbHits } = ask([secrets], { query: 'token', hitsPerPage: 0 });

  expect([hits.length, nbHits]).toStrictEqual([0, 3]);
});

test('gives only HTML of its own: what a page says is escaped in every text', () => {
  const evil = '<img src=x onerror=alert(1)> & "token"';
  const page = aPage({ area: evil, sections: [aSection({ level: 1, anchor: '', title: evil, text: evil })] });

  const { hits } = ask([page], {
    query: 'token onerror',
    highlightPreTag: '<mark>',
    highlightPostTag: '</mark>',
  });

  const texts = JSON.stringify(hits).replaceAll(/<\/?mark>/g, '');
  expect(texts).not.toContain('<');
  expect(hits[0]?._snippetResult.content?.value).toBe(
    '&lt;img src=x <mark>onerror</mark>=alert(1)&gt; &amp; &quot;<mark>token</mark>&quot;',
  );
});

test('shows as many words as are asked for, around those that were found', () => {
  const text = `${'before '.repeat(50)}the wanted token ${'after '.repeat(50)}`.trim();
  const page = aPage({ sections: [aSection({ level: 1, anchor: '', title: 'T', text })] });

  const { hits } = ask([page], {
    query: 'wanted token',
    attributesToSnippet: ['content:8'],
    snippetEllipsisText: '…',
  });

  const value = hits[0]?._snippetResult.content?.value ?? '';
  expect(value).toContain('<em>wanted</em> <em>token</em>');
  expect(value.replaceAll(/<\/?em>|…/g, '').split(' ')).toHaveLength(8);
  expect([value.startsWith('…'), value.endsWith('…')]).toStrictEqual([true, true]);
});
