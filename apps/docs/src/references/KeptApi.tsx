import { useLocation } from '@docusaurus/router';
import { Suspense, lazy, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';

const Drawn = lazy(async () => {
  const { WholeApi } = await import('./WholeApi.tsx');
  return { default: WholeApi };
});

/** The same object every time: React would empty the element for another. */
const asItIs = { __html: '' };

/**
 * What stands for the reference in a browser. It keeps what came with the page, which React need not know; where
 * nothing came, as the reader is from another page of the site, it loads what draws it.
 */
export function WholeApi(): ReactNode {
  const kept = useRef<HTMLDivElement>(null);
  const [isMissing, setIsMissing] = useState(false);
  const { hash } = useLocation();
  useEffect(() => {
    setIsMissing(kept.current?.childElementCount === 0);
  }, []);
  // Before the page is scrolled to it. The style sheet knows of the places that the browser goes to by itself, and of no others.
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

/** Goes where the reader wanted to go. The framework did so when nothing was drawn yet. */
function Arrival({ hash }: { hash: string }): ReactNode {
  useEffect(() => {
    markPlace(hash);
    document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [hash]);
  return null;
}

/** Unfolds the part of the contents that the address is about, and marks the place there. */
function markPlace(hash: string): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('.api-contents a')) {
    const isHere = link.hash === hash && hash !== '';
    if (isHere) link.setAttribute('aria-current', 'location');
    else link.removeAttribute('aria-current');
    const group = isHere ? link.closest('details') : null;
    if (group !== null) group.open = true;
  }
}
