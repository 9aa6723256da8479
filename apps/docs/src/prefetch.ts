/**
 * Lets what a link leads to be fetched ahead only while the page has nothing else to do, one after the other. A link does
 * that as soon as it is seen, and a page of links did it for all of them at once, in the very moment that it could be used.
 */
export function prefetchWhenIdle(): void {
  const { docusaurus } = window;
  // Safari has no such thing.
  const whenIdle = window.requestIdleCallback ?? ((work: () => void) => setTimeout(work, idleMs));
  const waiting: (() => void)[] = [];
  const goOn = (): void => {
    if (wanted.size > 0) {
      void Promise.allSettled(wanted).then(() => whenIdle(goOn));
      return;
    }
    waiting.shift()?.();
    if (waiting.length > 0) whenIdle(goOn); // what is asked for in one go would be done in one
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

/** Lets nothing be fetched ahead until the reader has what is waited for. */
export function firstOfAll<T>(work: Promise<T>): Promise<T> {
  const end = (): boolean => wanted.delete(work);
  wanted.add(work);
  work.then(end, end);
  return work;
}
