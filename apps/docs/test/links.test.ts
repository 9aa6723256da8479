import { existsSync, statSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parse } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { feedPath, releaseFeed } from '../src/plugins/references/releases.ts';

type Element = DefaultTreeAdapterTypes.Element;

interface BuiltPage {
  /** The path in the site, such as `/toolhive/faq`. */
  path: string;
  ids: ReadonlySet<string>;
  links: readonly { href: string; isContent: boolean }[];
  images: readonly { src: string; alt: string | undefined }[];
}

/** Pages that the navigation opens: the search, the lists of a sidebar category, and a page for theme developers. */
const entryPages = new Set([
  '/search',
  '/theme-preview',
  '/toolhive/tutorials',
  '/toolhive/reference',
  '/toolhive/guides-mcp',
  '/toolhive/concepts',
]);

const site = 'https://docs.example';
const files = await Array.fromAsync(glob(join(siteFolder, '**/index.html')));
const pages = new Map(
  (await Promise.all(files.map(readBuiltPage))).map((page) => [page.path, page] as const),
);

test('every link and every anchor leads to an existing target', () => {
  const broken = [...pages.values()].flatMap(({ path, links }) =>
    links.filter(({ href }) => !isTarget(path, href)).map(({ href }) => `${path}: ${href}`),
  );

  expect(pages.size).toBeGreaterThan(100);
  expect([...new Set(broken)]).toEqual([]);
});

/** Headings that once were on one page, and the pages that have them now. */
const moved = {
  'remote-servers': ['run-a-remote-server', 'authenticate-with-oauth-or-oidc'],
  'configure-servers': [
    'set-arguments',
    'set-environment-variables',
    'grant-permissions',
    'filter-tools',
    'rename-tools',
    'choose-a-name-a-group-and-labels',
    'choose-a-port-and-an-endpoint',
    'choose-which-sessions-share-a-process',
    'limits-for-connections',
    'run-in-the-foreground',
    'export-and-import-a-workload',
    'limit-resources',
  ],
};

test('addresses of parts that are on other pages now lead to a link to them', () => {
  const page = pages.get('/toolhive/guides-cli/run-mcp-servers');
  const hrefs = page?.links.filter(({ isContent }) => isContent).map(({ href }) => href) ?? [];

  for (const [target, anchors] of Object.entries(moved)) {
    expect([...(page?.ids ?? [])]).toEqual(expect.arrayContaining(anchors));
    const addresses = anchors.map((anchor) =>
      anchor === 'run-a-remote-server' // the whole page
        ? `/toolhive/guides-cli/${target}`
        : `/toolhive/guides-cli/${target}#${anchor}`,
    );
    expect(hrefs).toEqual(expect.arrayContaining(addresses));
  }
});

test('every image exists and has an alternative text', () => {
  const images = [...pages.values()].flatMap(({ path, images: shown }) =>
    shown.map((image) => ({ path, ...image })),
  );

  expect(images.length).toBeGreaterThan(20);
  expect(images.filter(({ path, src }) => !isTarget(path, src))).toEqual([]);
  expect(images.filter(({ alt }) => alt === undefined)).toEqual([]);
});

test('every page is linked from the content of another page', () => {
  const linked = new Set<string>(['/']);
  for (const { path, links } of pages.values()) {
    for (const { href, isContent } of links) {
      const target = isContent ? plain(new URL(href, `${site}${path}`).pathname) : path;
      if (target !== path) linked.add(target);
    }
  }

  expect([...pages.keys()].filter((path) => !linked.has(path) && !entryPages.has(path))).toEqual([]);
});

test('the feed of release notes is valid and links to the page', async () => {
  const built = await readFile(join(siteFolder, feedPath), 'utf8');
  const feed = releaseFeed('ToolHive', site, [
    { version: '2.0.0', date: '2026-01-31', changes: ['Support <b> & more.'] },
    { version: '2.1.0', date: undefined, changes: ['Not published.'] },
  ]);
  const links = [...built.matchAll(/<link (?!rel)[^>]*href="https?:\/\/[^/"]+([^"]*)"/g)].map(
    ([, path = '']) => path,
  );

  expect(links).not.toEqual([]);
  expect(links.filter((path) => !isTarget('/', path))).toEqual([]);
  expect(feed.match(/<entry>/g)).toHaveLength(1);
  expect(feed).toContain('<updated>2026-01-31T00:00:00Z</updated>');
  expect(feed).toContain('Support &lt;b&gt; &amp; more.');
});

/** Links to other sites are not checked here. */
function isTarget(from: string, href: string): boolean {
  const { origin, pathname, hash } = new URL(href, `${site}${from}`);
  if (origin !== site) return true;
  const path = decodeURIComponent(plain(pathname));
  const page = pages.get(path);
  if (page !== undefined) return hash === '' || page.ids.has(decodeURIComponent(hash.slice(1)));
  const file = join(siteFolder, path);
  return existsSync(file) && statSync(file).isFile();
}

function plain(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

async function readBuiltPage(file: string): Promise<BuiltPage> {
  const path = plain(`/${relative(siteFolder, file).replace(/index\.html$/, '')}`);
  const elements = [...elementsOf(parse(await readFile(file, 'utf8')))];
  const attribute = ({ attrs }: Element, name: string): string | undefined =>
    attrs.find((each) => each.name === name)?.value;
  return {
    path,
    ids: new Set(elements.flatMap(({ element }) => attribute(element, 'id') ?? [])),
    links: elements.flatMap(({ element, isContent }) => {
      const href = element.tagName === 'a' ? attribute(element, 'href') : undefined;
      return href === undefined ? [] : [{ href, isContent }];
    }),
    images: elements.flatMap(({ element }) => {
      const src = element.tagName === 'img' ? attribute(element, 'src') : undefined;
      return src === undefined || src.startsWith('data:') ? [] : [{ src, alt: attribute(element, 'alt') }];
    }),
  };
}

/** The navigation around the content is no content. */
function* elementsOf(
  node: DefaultTreeAdapterTypes.ParentNode,
  isContent = false,
): Generator<{ element: Element; isContent: boolean }> {
  for (const child of node.childNodes) {
    if (!('tagName' in child)) continue;
    const isInside =
      (isContent || child.tagName === 'main') && child.tagName !== 'nav' && child.tagName !== 'aside';
    yield { element: child, isContent: isInside };
    yield* elementsOf(child, isInside);
  }
}
