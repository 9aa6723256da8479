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
  /** Undefined if the site searches itself. */
  hosted: HostedSearch | undefined;
  /** The URL of the feedback form, to which the search text is added. */
  missingResultsUrl: string;
}

/** The search script, as `embedded.ts` loads it. */
const workerName = 'search-worker';

const browser = (file: string): string => fileURLToPath(new URL(`../../search/${file}`, import.meta.url));

/** Makes the site searchable, with its own index or a service. `site.ts` describes the choice. */
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

/** The theme settings. The theme requires credentials, which have no effect with embedded search. */
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

/** The hosts that pages must be able to connect to if they use the service. */
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

/** All searchable pages in the order of their paths. A section that occurs on several pages is listed once. */
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

/** The decision of the bundler, but with the worker script as one file, because the worker cannot load other files. */
function isSplit(chunk: { name?: string | null; canBeInitial: () => boolean }): boolean {
  return !chunk.canBeInitial() && chunk.name !== workerName;
}

/**
 * Preloads the scripts of the search page and the search script in parallel. Otherwise, each script is requested only
 * after the previous script has run.
 */
async function preloadScripts(folder: string, baseUrl: string, chunkNames: string): Promise<void> {
  const routes = JSON.parse(await readFile(chunkNames, 'utf8')) as Record<string, unknown>;
  const [, own] = Object.entries(routes).find(([route]) => route.startsWith(`${baseUrl}search-`)) ?? [];
  const names = [...namesIn(own), workerName];
  const files = await Array.fromAsync(glob(`assets/js/{${names.join()}}.*.js`, { cwd: folder }));
  if (files.length !== names.length)
    throw new Error(`the search page has other scripts than ${names.join(', ')}`);
  const links = files.map((file) => {
    // Workers do not use preloaded files directly, but they use the browser cache.
    const how = file.includes(workerName)
      ? 'rel="prefetch"'
      : 'rel="preload" as="script" fetchpriority="low"';
    return `<link ${how} href="${baseUrl}${file}">`;
  });
  const page = join(folder, 'search', 'index.html');
  const html = await readFile(page, 'utf8');
  // After the scripts of every page, which run first.
  await replaceFile(
    page,
    html.replace('</body>', () => `${links.join('')}</body>`),
  );
}

/** All strings in a nested value. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : [];
}

/** The search bar connects to the service in advance, on every page. */
function withoutPreconnect(): { test: RegExp; resolve: { alias: Record<string, string> } } {
  return {
    test: /theme-search-algolia[\\/]lib[\\/]theme[\\/]SearchBar[\\/]index\.js$/,
    resolve: { alias: { '@docusaurus/Head': browser('no-head.tsx') } },
  };
}
