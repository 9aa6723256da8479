import { useState } from 'react';
import type { ReactNode } from 'react';

/** The number of items at first, and the number that each click adds. */
const [few, step] = [10, 100];

/** The first items of a list that a server writes, and the others on request: it can have thousands. */
export function FirstFew<Item>({
  items,
  what,
  children,
}: {
  items: readonly Item[];
  /** The items as a plural noun. */
  what: string;
  children: (item: Item) => ReactNode;
}): ReactNode {
  const [shown, setShown] = useState(few);
  const more = Math.min(step, items.length - shown);
  return (
    <>
      {items.slice(0, shown).map(children)}
      {more > 0 && (
        <p>
          <span className="quiet">
            {shown.toLocaleString('en')} of {items.length.toLocaleString('en')} {what}
          </span>{' '}
          <button type="button" onClick={() => setShown(shown + more)}>
            Show {more.toLocaleString('en')} more
          </button>
        </p>
      )}
    </>
  );
}
