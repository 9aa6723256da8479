import { useEffect, useLayoutEffect, useState } from 'react';
import type { RefObject } from 'react';

/** A shorter list is rendered as a whole. */
const shortList = 60;
/** Rows that are rendered beyond the visible part on each side. A part only changes in steps of this size. */
const margin = 10;

/**
 * The rows of a list that are visible, and some more on both sides. The list scrolls with the page or within the nearest
 * element with the class `scrolls`.
 */
export function useVisibleRows(
  body: RefObject<HTMLElement | null>,
  amount: number,
  rowHeight: number,
): { first: number; end: number } {
  const [part, setPart] = useState({ first: 0, end: shortList });
  const isShort = amount <= shortList;
  useLayoutEffect(() => {
    if (!isShort) setPart((current) => visibleRows(body.current, rowHeight) ?? current);
  }, [body, amount, rowHeight, isShort]);
  useEffect(() => {
    if (isShort) return;
    const update = (): void => {
      const next = visibleRows(body.current, rowHeight);
      if (next === undefined) return;
      setPart((current) => (current.first === next.first && current.end === next.end ? current : next));
    };
    const observer = new ResizeObserver(update); // content above the list moves it
    observer.observe(document.body);
    document.addEventListener('scroll', update, { capture: true, passive: true });
    window.addEventListener('resize', update);
    return () => {
      observer.disconnect();
      document.removeEventListener('scroll', update, { capture: true });
      window.removeEventListener('resize', update);
    };
  }, [body, rowHeight, isShort]);
  return isShort ? { first: 0, end: amount } : { first: part.first, end: Math.min(amount, part.end) };
}

function visibleRows(
  body: HTMLElement | null,
  rowHeight: number,
): { first: number; end: number } | undefined {
  if (body === null) return undefined;
  const { top } = body.getBoundingClientRect();
  const frame = body.closest('.scrolls')?.getBoundingClientRect();
  const start = Math.max(0, frame?.top ?? 0);
  const end = Math.min(window.innerHeight, frame?.bottom ?? window.innerHeight);
  const first = Math.floor((start - top) / rowHeight / margin - 1) * margin;
  const last = Math.ceil((end - top) / rowHeight / margin + 1) * margin;
  return { first: Math.max(0, first), end: Math.max(shortList / 2, last) };
}
