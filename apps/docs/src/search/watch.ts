import type { DocSearchTransformClient } from '@docsearch/react';

/** The result of a search. */
export interface Outcome {
  query: string;
  /** Undefined if the search failed. */
  count: number | undefined;
  /** The site parts with results. */
  areas: readonly string[];
}

interface Answer {
  query?: string;
  nbHits?: number;
  hits?: { hierarchy?: { lvl0?: string } }[];
}

/**
 * Tells what the newest search of a client came to. A search that fails is answered with nothing found, because
 * DocSearch takes its error screen away as soon as it has put it up: who watches shows the failure.
 */
export function watchSearches(
  client: DocSearchTransformClient,
  tell: (outcome: Outcome) => void,
): DocSearchTransformClient {
  let newest = 0;
  const search = async (...args: Parameters<DocSearchTransformClient['search']>): Promise<unknown> => {
    newest += 1;
    const turn = newest;
    const [requests] = args;
    const asked = (Array.isArray(requests) ? requests : requests.requests) as {
      query?: string;
      indexName: string;
    }[];
    const query = asked[0]?.query ?? '';
    try {
      const answered = await client.search(...args);
      const results = answered.results as Answer[];
      if (turn === newest)
        tell({
          query,
          count: results.reduce((sum, { nbHits = 0 }) => sum + nbHits, 0),
          areas: [
            ...new Set(results.flatMap(({ hits = [] }) => hits.flatMap((hit) => hit.hierarchy?.lvl0 ?? []))),
          ],
        });
      return answered;
    } catch {
      if (turn === newest) tell({ query, count: undefined, areas: [] });
      return {
        results: asked.map(({ indexName, query: text = '' }) => ({
          hits: [],
          nbHits: 0,
          page: 0,
          nbPages: 0,
          hitsPerPage: 0,
          query: text,
          params: '',
          index: indexName,
        })),
      };
    }
  };
  return {
    search: search as DocSearchTransformClient['search'], // the same answers, and empty ones of the same shape
    addAlgoliaAgent: client.addAlgoliaAgent,
    transporter: client.transporter,
  };
}
