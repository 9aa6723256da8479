import type { JSX } from 'react';
import { translate } from '@docusaurus/Translate';
import styles from './modal.module.css';
import { useSearchData } from './settings.ts';
import { commonSearches } from './suggestions.ts';

/** What DocSearch means to show when nothing can be asked. */
export function Failure(): JSX.Element {
  const { mode } = useSearchData();
  const isBeingWritten = process.env.NODE_ENV === 'development' && mode === 'embedded';
  return (
    <div className="DocSearch-ErrorScreen" role="alert">
      <p className="DocSearch-Title">
        {translate({ id: 'theme.SearchModal.errorScreen.titleText', message: 'Unable to fetch results' })}
      </p>
      <p className="DocSearch-Help">
        {isBeingWritten
          ? 'There is no index while the site is written. It is made with the site: npm run docs:build'
          : translate({
              id: 'theme.SearchModal.errorScreen.helpText',
              message: 'You might want to check your network connection.',
            })}
      </p>
    </div>
  );
}

/** What DocSearch means to suggest when nothing is found: parts of the site that something was found in before. */
export function Suggestions({
  areas,
  onPick,
}: {
  areas: readonly string[];
  onPick: (text: string) => void;
}): JSX.Element {
  return (
    <div className="DocSearch-NoResults-Prefill-List">
      <p className="DocSearch-Help">
        {translate({
          id: 'theme.SearchModal.noResultsScreen.suggestedQueryText',
          message: 'Try searching for',
        })}
        :
      </p>
      <ul className={styles['suggestions']}>
        {[...areas, ...commonSearches].slice(0, 3).map((text) => (
          <li key={text}>
            <button type="button" className="DocSearch-Prefill" onClick={() => onPick(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
