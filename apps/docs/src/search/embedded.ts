import { transfer, wrap, type Remote } from 'comlink';
import { firstOfAll } from '@site/src/prefetch';
import type { SearchAnswer, SearchRequest } from './answer.ts';
import { indexFile } from './records.ts';
import type { Searcher } from './worker.ts';

/** What DocSearch wants of a client of Algolia. */
interface Client {
  search: (requests: SearchRequest[] | { requests: SearchRequest[] }) => Promise<{ results: SearchAnswer[] }>;
  addAlgoliaAgent: (name: string, version?: string) => void;
  transporter: { algoliaAgent: { value: string } };
}

/** How long a reader looks at a spinner at most. */
const patienceMs = 15_000;

let opened: Promise<Remote<Searcher>> | undefined;

/**
 * The search of this site, made ready when it is wanted first and kept. After a failure the next call tries again. Fails
 * with a RetryError, Algolia's name for not reaching anything.
 */
export function searcher(baseUrl: string): Promise<Remote<Searcher>> {
  opened ??= openSearcher(`${baseUrl}${indexFile}`).catch((cause: unknown) => {
    opened = undefined;
    throw Object.assign(new Error('the search index cannot be reached', { cause }), { name: 'RetryError' });
  });
  return opened;
}

async function openSearcher(url: string): Promise<Remote<Searcher>> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { name: 'search-worker' }); // as the plugin calls it
  try {
    const failed = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new Error('the script that searches cannot be run'));
      worker.addEventListener('error', fail);
      setTimeout(fail, patienceMs);
    });
    const remote = wrap<Searcher>(worker);
    // Asked for here, where a page may have told the browser that it will be wanted.
    const opening = fetchFile(url).then((file) => remote.open(transfer(file, [file])));
    await Promise.race([opening, failed]);
    return remote;
  } catch (error) {
    worker.terminate();
    throw error;
  }
}

async function fetchFile(url: string): Promise<ArrayBuffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) });
  if (!response.ok) throw new Error(`the search index is returned status ${response.status}`);
  return response.arrayBuffer();
}

/** Stands in for Algolia's client, with the same answers, from the index that comes with the site. */
export function embeddedClient(baseUrl: string): Client {
  const search: Client['search'] = async (requests) => {
    const all = Array.isArray(requests) ? requests : requests.requests;
    const { answer } = await searcher(baseUrl);
    return { results: await answer(all, globalThis.location.origin) };
  };
  return {
    search: (requests) => firstOfAll(search(requests)),
    addAlgoliaAgent() {}, // queries are not counted
    transporter: { algoliaAgent: { value: '' } },
  };
}
