/**
 * Prefetches link targets one after the other, and only while the page is idle. By default, links prefetch as soon as
 * they are visible, and a page with many links prefetched all of them at the moment of its first use.
 */
export function prefetchWhenIdle(): void {
  const { docusaurus } = window;
  // Safari does not support this function.
  const whenIdle = window.requestIdleCallback ?? ((work: () => void) => setTimeout(work, idleMs));
  const waiting: (() => void)[] = [];
  const goOn = (): void => {
    if (wanted.size > 0) {
      void Promise.allSettled(wanted).then(() => whenIdle(goOn));
      return;
    }
    waiting.shift()?.();
    if (waiting.length > 0) whenIdle(goOn); // one idle callback would handle all requests at once
  };
  window.docusaurus = {
    ...docusaurus,
    prefetch: (path) =>
      new Promise((resolve) => {
        waiting.push(() => resolve(docusaurus.prefetch(path) || Promise.resolve([])));
        if (waiting.length === 1) whenIdle(goOn);
      }),
  };
}

const idleMs = 300;

const wanted = new Set<Promise<unknown>>();

/** Prevents prefetching until the reader has the search results. */
export function firstOfAll<T>(work: Promise<T>): Promise<T> {
  const end = (): boolean => wanted.delete(work);
  wanted.add(work);
  work.then(end, end);
  return work;
}
