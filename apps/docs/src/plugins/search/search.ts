import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ThemeConfig } from '@docusaurus/preset-classic';
import type { PluginConfig } from '@docusaurus/types';
import { indexPages } from '../../search/library.ts';
import { indexFile, pluginName, type IndexedPage, type IndexedSection } from '../../search/records.ts';
import type { SearchData } from '../../search/settings.ts';
import { synonymsOf } from '../references/glossary.ts';
import { replaceFile } from '../replace.ts';
import { readPage } from './pages.ts';

/** A search service and, if one is named, its assistant. */
export interface HostedSearch {
  appId: string;
  apiKey: string;
  indexName: string;
  assistantId: string | undefined;
}

interface SearchOptions {
  /** Undefined: the site searches itself. */
  hosted: HostedSearch | undefined;
  /** What a reader searched for in vain is added at the end. */
  missingResultsUrl: string;
}

/** The script that searches, as `embedded.ts` calls it. */
const workerName = 'search-worker';

const browser = (file: string): string => fileURLToPath(new URL(`../../search/${file}`, import.meta.url));

/** Makes the site searchable: by the index that this writes, or by a service. See `site.ts` for how to choose. */
export function searchPlugin({ hosted, missingResultsUrl }: SearchOptions): PluginConfig {
  const mode = hosted === undefined ? 'embedded' : 'hosted';
  return function search() {
    return {
      name: pluginName,
      getThemePath: () => browser('theme'),
      getClientModules: () => [browser('button.css')],
      contentLoaded({ actions }) {
        actions.setGlobalData({ mode, missingResultsUrl } satisfies SearchData);
      },
      configureWebpack: (_config, isServer) => ({
        resolve: {
          alias: {
            '@docsearch/react/modal$': browser('modal.tsx'),
            '@docsearch/react/useDocSearchKeyboardEvents$': browser('keys.ts'),
            ...(mode === 'embedded' && { 'algoliasearch/lite$': browser('lite-client.ts') }),
          },
        },
        ...(mode === 'embedded' && { module: { rules: [withoutPreconnect()] } }),
        ...(mode === 'embedded' && !isServer && { optimization: { splitChunks: { chunks: isSplit } } }),
      }),
      async postBuild({ outDir, baseUrl, generatedFilesDir }) {
        if (mode === 'hosted') return;
        await writeFile(join(outDir, indexFile), JSON.stringify(indexPages(await pagesOf(outDir, baseUrl))));
        await preloadScripts(outDir, baseUrl, join(generatedFilesDir, 'routesChunkNames.json'));
      },
    };
  };
}

/** The settings of the theme. It insists on credentials; those of embedded search open nothing. */
export function searchTheme(hosted: HostedSearch | undefined): NonNullable<ThemeConfig['algolia']> {
  return {
    appId: hosted?.appId ?? 'EMBEDDED',
    apiKey: hosted?.apiKey ?? 'embedded',
    indexName: hosted?.indexName ?? 'docs',
    contextualSearch: true,
    searchPagePath: 'search',
    ...(hosted?.assistantId === undefined ? {} : { askAi: hosted.assistantId }),
  };
}

/** Where a page that uses the service has to be let connect to. */
export function searchHosts(hosted: HostedSearch | undefined): string[] {
  if (hosted === undefined) return [];
  const name = hosted.appId.toLowerCase();
  return [
    `https://${name}-dsn.algolia.net`,
    `https://${name}.algolia.net`,
    ...[1, 2, 3].map((number) => `https://${name}-${number}.algolianet.com`),
    ...(hosted.assistantId === undefined ? [] : ['https://askai.algolia.com']),
  ];
}

/**
 * Every page of a built site that wants to be found, in the order of addresses. A section that stands on many pages word
 * for word is one of the first of them.
 */
async function pagesOf(folder: string, baseUrl: string): Promise<IndexedPage[]> {
  const files = await Array.fromAsync(glob('**/*.html', { cwd: folder }));
  const pages: IndexedPage[] = [];
  const known = new Set<string>();
  const isNew = ({ level, title, text }: IndexedSection): boolean => {
    const words = JSON.stringify([title, text]);
    const isKnown = known.has(words);
    known.add(words);
    return !isKnown || level === 1 || text === '';
  };
  for (const file of files.toSorted()) {
    if (file === '404.html') continue;
    const url = baseUrl + file.replace(/(^|\/)index\.html$/, '').replace(/\.html$/, '');
    const page = readPage(await readFile(join(folder, file), 'utf8'), url);
    if (page === undefined) continue;
    const keywords = [page.keywords ?? '', ...synonymsOf(url)].join(' ');
    pages.push({ ...page, keywords, sections: page.sections.filter(isNew) });
  }
  return pages;
}

/** As the bundler decides, but that the script of the worker is whole: a worker of the site may fetch nothing. */
function isSplit(chunk: { name?: string | null; canBeInitial: () => boolean }): boolean {
  return !chunk.canBeInitial() && chunk.name !== workerName;
}

/**
 * Lets the browser fetch the scripts of the search page, and the one that searches, together with all others. Without
 * that each is asked for only when the one before has run.
 */
async function preloadScripts(folder: string, baseUrl: string, chunkNames: string): Promise<void> {
  const routes = JSON.parse(await readFile(chunkNames, 'utf8')) as Record<string, unknown>;
  const [, own] = Object.entries(routes).find(([route]) => route.startsWith(`${baseUrl}search-`)) ?? [];
  const names = [...namesIn(own), workerName];
  const files = await Array.fromAsync(glob(`assets/js/{${names.join()}}.*.js`, { cwd: folder }));
  if (files.length !== names.length)
    throw new Error(`the search page has other scripts than ${names.join(', ')}`);
  const links = files.map((file) => {
    // A browser does not take what was preloaded for what a worker asks for, but finds it in its cache.
    const how = file.includes(workerName)
      ? 'rel="prefetch"'
      : 'rel="preload" as="script" fetchpriority="low"';
    return `<link ${how} href="${baseUrl}${file}">`;
  });
  const page = join(folder, 'search', 'index.html');
  const html = await readFile(page, 'utf8');
  // Behind the scripts of every page, which run first.
  await replaceFile(
    page,
    html.replace('</body>', () => `${links.join('')}</body>`),
  );
}

/** All texts in a value, however deep. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : [];
}

/** The search bar connects ahead to the service, on every page. */
function withoutPreconnect(): { test: RegExp; resolve: { alias: Record<string, string> } } {
  return {
    test: /theme-search-algolia[\\/]lib[\\/]theme[\\/]SearchBar[\\/]index\.js$/,
    resolve: { alias: { '@docusaurus/Head': browser('no-head.tsx') } },
  };
}
