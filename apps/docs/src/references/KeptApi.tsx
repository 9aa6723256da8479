import { useLocation } from '@docusaurus/router';
import { Suspense, lazy, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';

const Drawn = lazy(async () => {
  const { WholeApi } = await import('./WholeApi.tsx');
  return { default: WholeApi };
});

/** A constant object, because React would empty the element for another object. */
const asItIs = { __html: '' };

/**
 * The API reference in a browser. It keeps the HTML of the page without React. If the reader comes from another page of
 * the site, there is no HTML, so the component loads the rendering code.
 */
export function WholeApi(): ReactNode {
  const kept = useRef<HTMLDivElement>(null);
  const [isMissing, setIsMissing] = useState(false);
  const { hash } = useLocation();
  useEffect(() => {
    setIsMissing(kept.current?.childElementCount === 0);
  }, []);
  // Before the page scrolls to the target. The style sheet knows only the targets that the browser opens itself.
  useLayoutEffect(() => {
    if (hash !== '') kept.current?.setAttribute('data-whole', '');
  }, [hash]);
  useEffect(() => markPlace(hash), [hash]);

  if (!isMissing) {
    return <div key="kept" ref={kept} suppressHydrationWarning dangerouslySetInnerHTML={asItIs} />;
  }
  return (
    <div key="drawn">
      <Suspense fallback={<p>Loading…</p>}>
        <Drawn />
        <Arrival hash={hash} />
      </Suspense>
    </div>
  );
}

/** Scrolls to the target. The framework already tried before the page was rendered. */
function Arrival({ hash }: { hash: string }): ReactNode {
  useEffect(() => {
    markPlace(hash);
    document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [hash]);
  return null;
}

/** Expands the part of the contents for the current target and marks the entry. */
function markPlace(hash: string): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.api-contents a')) {
    const isHere = link.hash === hash && hash !== '';
    if (isHere) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
    const group = isHere ? link.closest('details') : null;
    if (group !== null) group.open = true;
  }
}
