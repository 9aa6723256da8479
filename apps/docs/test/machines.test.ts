import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { markdownOf } from '../src/plugins/machines/markdown-page.ts';

const routes = (await readFile(new URL('routes.txt', import.meta.url), 'utf8')).trim().split('\n');
/** Pages that say something: the others are forms and samples. */
const pages = routes.filter((route) => !['/search', '/theme-preview'].includes(route));
const read = (path: string): Promise<string> => readFile(siteFolder + path, 'utf8');
const textOf = (route: string): string => (route === '/' ? '/index.md' : `${route.replace(/\/$/, '')}.md`);

test.for(pages)('%s can be had as Markdown, and says so', async (route) => {
  const text = await read(textOf(route));
  const html = await read(`${route}/index.html`);

  expect(text).toMatch(/^# /m);
  expect(text).not.toMatch(/<(div|span|button)\b/);
  expect(html).toContain(`<link rel="alternate" type="text/markdown" href="${textOf(route)}">`);
});

test('the lists for programs contain every page', async () => {
  const [list, all] = await Promise.all([read('/llms.txt'), read('/llms-full.txt')]);

  const missing = pages.filter(
    (route) => !list.includes(`](${textOf(route)})`) || !all.includes(`${route} -->`),
  );

  expect(missing).toEqual([]);
});

test('the document for authorization servers names its own address', async () => {
  const about = JSON.parse(await read('/oauth-client.json')) as Record<string, unknown>;

  expect(about).toMatchObject({ client_name: 'ToolHive MCP Client', token_endpoint_auth_method: 'none' });
  expect(about['client_id']).toMatch(/^https:\/\/.+\/oauth-client\.json$/);
});

test('tabs, panels and code are all there as text', async () => {
  const html = `<main><article><div class="theme-doc-markdown"><h1>Title<a class="hash-link" href="#t">#</a></h1>
    <div class="tabs-container"><ul role="tablist"><li role="tab">One</li><li role="tab">Two</li></ul>
    <div><div role="tabpanel"><p>first</p></div><div role="tabpanel" hidden><p>second</p></div></div></div>
    <details><summary>More</summary><p>inside</p></details>
    <pre class="language-bash"><code><span>thv list</span><br><span>thv stop</span></code></pre>
    <article><a class="card" href="/next"><h2>📄️<!-- --> <!-- -->Next</h2><p>What comes</p></a></article>
    <button>Copy</button></div></article></main>`;

  const text = await markdownOf(html);

  expect(text).toBe(
    '# Title\n\n**One**\n\nfirst\n\n**Two**\n\nsecond\n\nMore\n\ninside\n\n```bash\nthv list\nthv stop\n```\n\n- [Next](/next): What comes',
  );
});

test('every page says what it is, and has a picture to be shown with', async () => {
  const faults: string[] = [];
  for (const route of pages) {
    const html = await read(`${route}/index.html`);
    const data = [...html.matchAll(/<script[^>]*application\/ld\+json[^>]*>([^<]*)</g)].map(
      ([, json = '']) => (JSON.parse(json) as { '@type': string })['@type'],
    );
    const image = /property="og:image" content="https:\/\/[^/]+(\/social\/[^"]+)"/.exec(html)?.[1];
    const picture = image === undefined ? undefined : await readFile(siteFolder + image);
    const isPng = picture?.subarray(1, 4).toString() === 'PNG';
    if (!isPng || !data.some((type) => type === 'TechArticle' || type === 'WebSite')) faults.push(route);
    if (route.includes('/guides-cli/install') && !data.includes('BreadcrumbList'))
      faults.push(`${route}: trail`);
  }

  expect(faults).toEqual([]);
});

test('the map of the site has every page, and when it last changed', async () => {
  const map = await read('/sitemap.xml');

  const missing = pages.filter((route) => !map.includes(`.example${route}</loc>`));

  expect(missing).toEqual([]);
  expect(map.match(/<lastmod>\d{4}-\d\d-\d\d/g)?.length).toBeGreaterThan(pages.length / 2);
  expect(map).not.toContain('/search<');
});

test('hosts are told in their own words what the pages may load', async () => {
  const headers = JSON.parse(await read('/headers.json')) as Record<string, string>;
  const policy = headers['content-security-policy'] ?? '';
  const [common, vercel, nginx] = await Promise.all([
    read('/_headers'),
    read('/vercel.json'),
    read('/nginx-headers.conf'),
  ]);

  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('http');
  expect(policy).not.toContain("script-src 'self' 'unsafe-inline'");
  expect([common, vercel, nginx].map((text) => text.includes(policy))).toEqual([true, true, true]);
});

test('the pages need no file of anybody else', async () => {
  const foreign: string[] = [];
  for await (const page of glob('**/*.html', { cwd: siteFolder })) {
    const html = await readFile(`${siteFolder}/${page}`, 'utf8');
    for (const [tag] of html.matchAll(/<(script|img|iframe|source)\b[^>]*\b(src|srcset)=["']?https?:[^>]*>/g))
      foreign.push(tag);
    for (const [tag] of html.matchAll(/<link\b[^>]*>/g)) {
      if (
        /rel=["']?(stylesheet|preconnect|dns-prefetch|preload|icon)/.test(tag) &&
        /href=["']?https?:/.test(tag)
      )
        foreign.push(tag);
    }
  }

  expect(foreign).toEqual([]);
});
