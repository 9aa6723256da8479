import { expect, test } from 'vitest';
import { readPage } from './pages.ts';

const aPage = (content: string, { head = '', crumbs = ['', 'CLI guides', 'Secrets'] } = {}): string => `
  <!doctype html><html><head><meta name=docsearch:language content=en>
  <meta name=docsearch:docusaurus_tag content=docs-default-current><meta name=description content="Keep tokens.">${head}
  <body><nav>Not this</nav><main><ul>${crumbs.map((crumb) => `<li class="breadcrumbs__item">${crumb}`).join('')}</ul>
  <div class="theme-doc-markdown markdown">${content}</div></main>`;

test('makes a record of the page and of every heading that can be linked to', () => {
  const html =
    aPage(`<header><h1>Keep secrets</h1></header><p>First.<h2 id=set>Set one<a class=hash-link>#</a></h2>
    <p>Type it.<h3 id=pipe>From a <code>pipe</code></h3><p>Or pipe it.<h4>No address</h4><p>Still here.`);

  const page = readPage(html, '/guides/secrets');

  expect(page).toStrictEqual({
    url: '/guides/secrets',
    area: 'CLI guides',
    language: 'en',
    tag: 'docs-default-current',
    about: 'Keep tokens.',
    sections: [
      { level: 1, anchor: '', title: 'Keep secrets', text: 'First.' },
      { level: 2, anchor: 'set', title: 'Set one', text: 'Type it.' },
      { level: 3, anchor: 'pipe', title: 'From a pipe', text: 'Or pipe it. No address Still here.' },
    ],
  });
});

test('separates words in different blocks, and joins the parts of a word with a mark', () => {
  const html = aPage(
    '<h1>T</h1><ul><li>one<li>two</ul><p>th<b>v</b> run</p>it<p>is</p><pre><span>a</span><br><span>b</span></pre>',
  );

  const page = readPage(html, '/t');

  expect(page?.sections[0]?.text).toBe('one two thv run it is a b');
});

test('leaves out buttons, pictures, and scripts', () => {
  const html = aPage('<h1>T</h1><button>Copy</button><svg><title>x</title></svg><script>y</script><p>Text');

  const page = readPage(html, '/t');

  expect(page?.sections[0]?.text).toBe('Text');
});

test('leaves out code to copy, column headings, and sections of links', () => {
  const html = aPage(`<h1>T</h1><p>Text<pre data-unsearched>curl example</pre>
    <h2 id=flags>Flags</h2><table><thead><tr><th>Flag<tbody><tr><td>--name</table>
    <h2 id=more>See also</h2><ul><li><a href=/a>One</a><li><a href=/b><code>two</code></a></ul>
    <h2 id=next>Next</h2><p>Then <a href=/c>go on</a>
    <h2 id=empty>Nothing yet</h2>`);

  const page = readPage(html, '/t');

  expect(page?.sections.map(({ anchor, text }) => [anchor, text])).toStrictEqual([
    ['', 'Text'],
    ['flags', '--name'],
    ['next', 'Then go on'],
    ['empty', ''],
  ]);
});

test('takes what is escaped on the page for the text that it is', () => {
  const html = aPage('<h1>Use &lt;name&gt; &amp; go</h1><p>&lt;script&gt;');

  const page = readPage(html, '/t');

  expect(page?.sections[0]).toMatchObject({ title: 'Use <name> & go', text: '<script>' });
});

test('cuts what is very long between two words', () => {
  const html = aPage(`<h1>T</h1><p>${'word '.repeat(1000)}`);

  const text = readPage(html, '/t')?.sections[0]?.text ?? '';

  expect(text.length).toBeLessThanOrEqual(1500);
  expect(text.endsWith(' word')).toBe(true);
});

test('leaves out a page that asks not to be found', () => {
  const html = aPage('<h1>T</h1>', { head: '<meta name=robots content="noindex, follow">' });

  const page = readPage(html, '/t');

  expect(page).toBe(undefined);
});

test('finds a heading by the address of the section that it opens', () => {
  const html = aPage('<h1>API</h1><section id=stop><h2>Stop a workload</h2><p>Ends it.</section>');

  const page = readPage(html, '/t');

  expect(page?.sections[1]).toMatchObject({ anchor: 'stop', title: 'Stop a workload', text: 'Ends it.' });
});

test.for([
  ['/reference/x', ['', 'CLI guides', 'x'], 'References'],
  ['/faq', ['', 'FAQ'], 'Documentation'],
] as const)('puts %s where readers look for it', ([url, crumbs, area]) => {
  const page = readPage(aPage('<h1>T</h1>', { crumbs: [...crumbs] }), url);

  expect(page?.area).toBe(area);
});

test('leaves out the symptoms of a guide, which the page of all symptoms has, and no other disclosure', () => {
  const html = aPage(`<h1>T</h1><details><summary>More</summary>Shown</details>
    <h2 id=troubleshooting>Troubleshooting</h2><p>Run it.<details><summary>It fails</summary>Wait.</details>`);

  const page = readPage(html, '/t');

  expect(page?.sections.map(({ text }) => text)).toStrictEqual(['More Shown', 'Run it.']);
});
