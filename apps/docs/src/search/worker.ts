import { expose } from 'comlink';
import { answer, type SearchAnswer, type SearchRequest } from './answer.ts';
import { quotePassages, type Quote } from './ask.ts';
import { openLibrary, type Library, type SearchIndex } from './library.ts';

/** Embedded search in a separate thread, which never blocks the page. */
export interface Searcher {
  /** The first message, with the content of the index file. Fails if the content is not an index. */
  open: (file: ArrayBuffer) => void;
  answer: (requests: readonly SearchRequest[], origin: string) => SearchAnswer[];
  quote: (question: string) => Quote[];
}

let library: Library;

expose({
  open(file) {
    library = openLibrary(JSON.parse(new TextDecoder().decode(file)) as SearchIndex);
  },
  answer: (requests, origin) => requests.map((request) => answer(library, request, origin)),
  quote: (question) => quotePassages(library, question),
} satisfies Searcher);
