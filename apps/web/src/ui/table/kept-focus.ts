import { useLayoutEffect, useRef } from 'react';
import type { FocusEvent } from 'react';

/** The row with the focus: its key, and its place among the rows. */
interface Place {
  key: string;
  index: number;
}

/**
 * Keeps the focus in a table when the element with the focus is removed: it goes to the same row, or to the one that takes
 * its place. If the whole table is removed, it goes to the heading of the page.
 */
export function useKeptFocus(
  keys: readonly string[],
  go: (index: number) => void,
): { onFocus: (place: Place) => void; onBlur: (event: FocusEvent) => void } {
  const place = useRef<Place | undefined>(undefined);
  useLayoutEffect(() => {
    const before = place.current;
    if (before === undefined || !isFocusLost()) return;
    const index = keys.indexOf(before.key);
    queueMicrotask(() => go(index === -1 ? before.index : index));
  });
  useLayoutEffect(
    () => () => {
      if (place.current === undefined) return;
      queueMicrotask(() => {
        if (isFocusLost()) focusHeading();
      });
    },
    [],
  );
  return {
    onFocus(next) {
      place.current = next;
    },
    // React reports no event when it removes an element, so this is one of the user.
    onBlur({ currentTarget, relatedTarget }) {
      if (!currentTarget.contains(relatedTarget)) place.current = undefined;
    },
  };
}

/** Whether the element with the focus is gone. */
function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Moves the focus to a row of the table of the page, for an action about several rows whose button disappears. */
export function focusRow(): void {
  const row = document.querySelector<HTMLElement>('main [role=grid] tr[data-active=true]');
  if (row === null) focusHeading();
  else row.focus();
}

/** Moves the focus to the heading of the page, without scrolling. */
function focusHeading(): void {
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}
