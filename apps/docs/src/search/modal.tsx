import { type JSX, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { DocSearchModal as Modal, type DocSearchModalProps } from '@docsearch/react';
import useBaseUrl from '@docusaurus/useBaseUrl';
import { liteClient } from 'algoliasearch/lite';
import { searcher } from './embedded.ts';
import { keepMended, trapFocus, typeQuery, type Places } from './frame.ts';
import { Failure, Suggestions } from './screens.tsx';
import { AskedPassages, useAskedPassages } from './AskedPassages.tsx';
import { useSearchData } from './settings.ts';
import { tolerateNoStorage } from './storage.ts';
import { watchSearches, type Outcome } from './watch.ts';
import styles from './modal.module.css';

type Footer = NonNullable<DocSearchModalProps['resultsFooterComponent']>;

const noPlaces: Places = { dropdown: undefined, suggestions: undefined, askBody: undefined };

/**
 * DocSearch's own modal, in both modes, with its faults mended: what it counts, its error screen, what it suggests when
 * nothing is found, its roles and its trap for the focus. In embedded mode it asks the index of this site, and questions
 * are answered with passages of the pages.
 */
export function DocSearchModal(props: DocSearchModalProps): JSX.Element {
  useState(tolerateNoStorage); // once, and before anything below asks for it
  const { mode, missingResultsUrl } = useSearchData();
  const isEmbedded = mode === 'embedded';
  const baseUrl = useBaseUrl('/');
  useState(() => {
    // While the modal is drawn and the reader types. Whether that works, the first search tells.
    if (isEmbedded) searcher(baseUrl).catch(() => undefined);
  });
  const frame = useRef<HTMLDivElement>(null);
  const [places, setPlaces] = useState(noPlaces);
  const [outcome, setOutcome] = useState<Outcome>();
  const seenAreas = useRef<readonly string[]>([]);
  const { resultsFooterComponent: GivenFooter, transformSearchClient: given, onAskAiToggle } = props;
  const passages = useAskedPassages(props.isAskAiActive ?? false);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const stopMending = keepMended(element, (next) =>
      setPlaces((now) =>
        now.dropdown === next.dropdown && now.suggestions === next.suggestions && now.askBody === next.askBody
          ? now
          : next,
      ),
    );
    const stopTrapping = trapFocus(element);
    return () => {
      stopMending();
      stopTrapping();
    };
  }, []);

  const counts = useRef(new Map<string, number>());
  const transformSearchClient = useCallback<NonNullable<DocSearchModalProps['transformSearchClient']>>(
    (client) => {
      const real = isEmbedded ? (liteClient('', '') as typeof client) : (given?.(client) ?? client);
      return watchSearches(real, (next) => {
        counts.current.set(next.query, next.count ?? 0);
        seenAreas.current = [...new Set([...seenAreas.current, ...next.areas])];
        setOutcome(next);
      });
    },
    [isEmbedded, given],
  );

  const ResultsFooter = useMemo<Footer>(
    () =>
      function CountedFooter({ state }) {
        // DocSearch adds up what it found for every key that was pressed.
        const nbHits = counts.current.get(state.query) ?? 0;
        return GivenFooter === undefined || nbHits === 0 ? (
          <></>
        ) : (
          <GivenFooter state={{ ...state, context: { ...state.context, nbHits } }} />
        );
      },
    [GivenFooter],
  );

  return (
    <div
      ref={frame}
      className={styles['frame']}
      data-search={mode}
      data-failed={outcome !== undefined && outcome.count === undefined}
    >
      <Modal
        {...props}
        {...(isEmbedded ? embeddedAsking(props) : {})}
        transformSearchClient={transformSearchClient}
        getMissingResultsUrl={({ query }) => `${missingResultsUrl}${encodeURIComponent(query)}`}
        {...(GivenFooter === undefined ? {} : { resultsFooterComponent: ResultsFooter })}
        {...(isEmbedded && {
          interceptAskAiEvent: ({ query }: { query: string }) => {
            onAskAiToggle(true);
            passages.ask(query, async (question) => (await searcher(baseUrl)).quote(question));
            return true;
          },
        })}
      />
      <p role="status" className={styles['status']}>
        {outcome === undefined || outcome.query === '' || props.isAskAiActive === true ? '' : toldOf(outcome)}
      </p>
      {places.dropdown !== undefined &&
        outcome?.count === undefined &&
        outcome !== undefined &&
        props.isAskAiActive !== true &&
        createPortal(<Failure />, places.dropdown)}
      {places.suggestions !== undefined &&
        createPortal(
          <Suggestions
            areas={seenAreas.current}
            onPick={(text) => frame.current !== null && typeQuery(frame.current, text)}
          />,
          places.suggestions,
        )}
      {isEmbedded &&
        places.askBody !== undefined &&
        createPortal(
          <AskedPassages asked={passages.asked} onFollow={() => props.onClose?.()} />,
          places.askBody,
        )}
    </div>
  );
}

function toldOf({ count }: Outcome): string {
  if (count === undefined) return ''; // the failure is an alert of its own
  return count === 0 ? 'Nothing found' : count === 1 ? '1 result' : `${count} results`;
}

/** Lets questions be asked where there is no assistant, in words that promise none. */
function embeddedAsking({
  translations,
  indexName = 'docs',
}: DocSearchModalProps): Partial<DocSearchModalProps> {
  return {
    askAi: { assistantId: 'embedded', indexName },
    translations: {
      ...translations,
      resultsScreen: {
        ...translations?.resultsScreen,
        askAiPlaceholder: 'Quote passages about: ',
        noResultsAskAiPlaceholder: 'Quote passages with some of the words: ',
      },
      askAiScreen: {
        ...translations?.askAiScreen,
        disclaimerText: 'Passages of this documentation, word for word. No model writes here.',
      },
    },
  };
}
