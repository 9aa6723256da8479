import { liteClient } from 'algoliasearch/lite';

/** One found section, as the search page shows it; all but the address is HTML. */
export interface Found {
  url: string;
  title: string;
  trail: readonly string[];
  summary: string;
}

/** What a search has come to so far. */
export type Results =
  | { state: 'idle' | 'loading' | 'failed' }
  | {
      state: 'found';
      query: string;
      found: readonly Found[];
      total: number;
      /** Whether more was asked for, and nothing answered. */
      isMoreMissing?: boolean;
    };

/** More is not given at once by a service. */
export const mostFound = 1000;

interface Query {
  appId: string;
  apiKey: string;
  indexName: string;
  query: string;
  /** How many of what fits best are wanted. */
  count: number;
  filters: (string | string[])[];
  /** Makes an address of the answer one of this site. */
  toLocal: (url: string) => string;
}

type Texts = Record<string, { value: string } | undefined>;
interface Hit {
  url: string;
  _highlightResult?: { hierarchy?: Texts };
  _snippetResult?: { content?: { value: string } };
}

/** Requests the first results. A failure is also a result, because callers do not wait for another. */
export async function searchPage({
  appId,
  apiKey,
  indexName,
  query,
  count,
  filters,
  toLocal,
}: Query): Promise<Results> {
  const request = {
    indexName,
    query,
    page: 0,
    hitsPerPage: Math.min(count, mostFound),
    facetFilters: filters,
    attributesToSnippet: ['content:30'],
    snippetEllipsisText: '…',
    highlightPreTag: '<mark>',
    highlightPostTag: '</mark>',
  };
  try {
    const { results } = await liteClient(appId, apiKey).search<Hit>({ requests: [request] });
    const [answer] = results as { hits: Hit[]; nbHits?: number }[]; // one for each request
    return {
      state: 'found',
      query,
      total: answer?.nbHits ?? 0,
      found: (answer?.hits ?? []).map((hit) => toFound(hit, toLocal)),
    };
  } catch {
    return { state: 'failed' };
  }
}

function toFound(
  { url, _highlightResult: marked, _snippetResult: cut }: Hit,
  toLocal: (url: string) => string,
): Found {
  const titles = Object.values(marked?.hierarchy ?? {}).flatMap((text) => (text ? [text.value] : []));
  return {
    url: toLocal(url),
    title: titles.at(-1) ?? url,
    trail: titles.slice(0, -1),
    summary: cut?.content?.value ?? '',
  };
}
