import { type JSX, useEffect, useRef, useState } from 'react';
import Head from '@docusaurus/Head';
import Link from '@docusaurus/Link';
import { useDocsContextualSearchTags } from '@docusaurus/plugin-content-docs/client';
import { PageMetadata, useSearchQueryString } from '@docusaurus/theme-common';
import { useAlgoliaThemeConfig, useSearchResultUrlProcessor } from '@docusaurus/theme-search-algolia/client';
import useBaseUrl from '@docusaurus/useBaseUrl';
import useDocusaurusContext from '@docusaurus/useDocusaurusContext';
import Layout from '@theme/Layout';
import { indexFile } from '../../records.ts';
import { mostFound, searchPage, type Found, type Results } from '../../results.ts';
import { Failure } from '../../screens.tsx';
import { useSearchData } from '../../settings.ts';
import styles from './styles.module.css';

/** Waits for the reader to stop typing. */
const pauseMs = 200;

/** How many are shown at first, and how many more each time that more are wanted. */
const pageSize = 15;

/**
 * The results for the query in the address. The theme's own page shows a loading indicator forever if the search fails,
 * has no main element before the first result, and names a service that may not be used.
 */
// A component of a theme is a default export.
export default function SearchPage(): JSX.Element {
  const index = useBaseUrl(indexFile);
  const isEmbedded = useSearchData().mode === 'embedded';
  return (
    <Layout>
      <Head>
        <meta name="robots" content="noindex, follow" />
        {isEmbedded && <link rel="preload" as="fetch" href={index} crossOrigin="anonymous" />}
      </Head>
      <Search />
    </Layout>
  );
}

function Search(): JSX.Element {
  const [query, setQuery] = useSearchQueryString();
  const { results, showMore } = useResults(query.trim());
  const title = query === '' ? 'Search the documentation' : `Search results for “${query}”`;

  return (
    <>
      <PageMetadata title={title} />
      <main className={`container margin-vert--lg ${styles['page']}`}>
        <h1>Search the documentation</h1>
        <form role="search" onSubmit={(event) => event.preventDefault()}>
          <input
            type="search"
            name="q"
            className={styles['input']}
            aria-label="Search"
            placeholder="Type your search here"
            autoComplete="off"
            // Readers open this page to search.
            autoFocus
            value={query}
            onChange={({ target }) => setQuery(target.value)}
          />
        </form>
        <p role="status" className={styles['count']}>
          {told(results)}
        </p>
        {results.state === 'found' && results.found.length > 0 && (
          <ol className={styles['list']}>
            {results.found.map((one) => (
              <li key={one.url}>
                <Result found={one} />
              </li>
            ))}
          </ol>
        )}
        {isLacking(results) && <Failure />}
        {results.state === 'found' && results.found.length < Math.min(results.total, mostFound) && (
          <button type="button" className="button button--outline button--primary" onClick={showMore}>
            Show more results
          </button>
        )}
      </main>
    </>
  );
}

function Result({ found: { url, title, trail, summary } }: { found: Found }): JSX.Element {
  // The search has already escaped the text of pages.
  return (
    <article>
      <h2 className={styles['title']}>
        <Link to={url} dangerouslySetInnerHTML={{ __html: title }} />
      </h2>
      <p className={styles['trail']} dangerouslySetInnerHTML={{ __html: trail.join(' › ') }} />
      {summary !== '' && <p className={styles['summary']} dangerouslySetInnerHTML={{ __html: summary }} />}
    </article>
  );
}

const isLacking = (results: Results): boolean =>
  results.state === 'failed' || (results.state === 'found' && results.isMoreMissing === true);

function told(results: Results): string {
  if (results.state === 'loading') return 'Searching…';
  if (results.state !== 'found') return '';
  if (results.total === 0) return 'No results were found';
  return results.total === 1 ? 'One document found' : `${results.total} documents found`;
}

/**
 * What is found for a query: with each page that the reader wants, all from the first on is asked for again, so that none
 * is missing, however quickly they want more. A late answer to an earlier question is dropped.
 */
function useResults(query: string): { results: Results; showMore: () => void } {
  const { algolia } = useAlgoliaThemeConfig();
  const { currentLocale } = useDocusaurusContext().i18n;
  const tags = useDocsContextualSearchTags();
  const toLocal = useSearchResultUrlProcessor();
  const [results, setResults] = useState<Results>({ state: 'idle' });
  const [wanted, setWanted] = useState({ query, pages: 1 });
  const pages = wanted.query === query ? wanted.pages : 1;
  const isTyped = useRef(false);
  const filters = JSON.stringify(
    algolia.contextualSearch
      ? [`language:${currentLocale}`, ['default', ...tags].map((tag) => `docusaurus_tag:${tag}`)]
      : [],
  );

  useEffect(() => {
    if (query === '') {
      setResults({ state: 'idle' });
      return undefined;
    }
    let isWanted = true;
    const search = async (): Promise<void> => {
      setResults((now) => (now.state === 'found' ? now : { state: 'loading' }));
      const count = pages * pageSize;
      const next = await searchPage({ ...algolia, query, count, filters: JSON.parse(filters), toLocal });
      if (isWanted) setResults((now) => afterwards(now, next, query));
    };
    // The query in the address was not typed.
    const timer = setTimeout(() => void search(), isTyped.current && pages === 1 ? pauseMs : 0);
    isTyped.current = true;
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [query, pages, filters, algolia, toLocal]);

  return { results, showMore: () => setWanted({ query, pages: pages + 1 }) };
}

/** Existing results stay if more results are not available. */
function afterwards(now: Results, next: Results, query: string): Results {
  const isKept = next.state === 'failed' && now.state === 'found' && now.query === query;
  return isKept ? { ...now, isMoreMissing: true } : next;
}
