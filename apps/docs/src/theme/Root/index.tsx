import { createStorageSlot } from '@docusaurus/theme-common';
import { lazy, Suspense, useEffect } from 'react';
import type { ReactNode } from 'react';
import { FontPreload } from '@site/src/components/FontPreload';
import { useFeedback } from '@site/src/components/use-feedback';
import { prefetchWhenIdle } from '@site/src/prefetch';

// Fetched only where it is switched on.
const Feedback = lazy(async () => ({ default: (await import('@site/src/components/Feedback')).Feedback }));

/** Around every page. */
// Docusaurus insists on a default export.
export default function Root({ children }: { children: ReactNode }): ReactNode {
  const feedback = useFeedback();
  useEffect(showNewAnnouncement, []);
  useEffect(printOnWhite, []);
  useEffect(prefetchWhenIdle, []);
  return (
    <>
      <FontPreload />
      {children}
      {feedback !== undefined && (
        <Suspense>
          <Feedback to={feedback} />
        </Suspense>
      )}
    </>
  );
}

/**
 * Hides a closed announcement from the first moment with a permanent attribute. Here, the site shows a new announcement
 * immediately, which the theme shows only at the next visit.
 */
function showNewAnnouncement(): void {
  const isDismissed = createStorageSlot('docusaurus.announcement.dismiss').get() === 'true';
  document.documentElement.dataset['announcementBarInitiallyDismissed'] = String(isDismissed);
}

/** Printed pages are light, also in dark mode. */
function printOnWhite(): () => void {
  const { dataset } = document.documentElement;
  let shown = dataset['theme'];
  const change = new AbortController();
  const { signal } = change;
  window.addEventListener(
    'beforeprint',
    () => {
      shown = dataset['theme'];
      dataset['theme'] = 'light';
    },
    { signal },
  );
  window.addEventListener('afterprint', () => (dataset['theme'] = shown), { signal });
  return () => change.abort();
}
