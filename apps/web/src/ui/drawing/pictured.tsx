import type { ReactNode } from 'react';

/** A drawing with its data below, for everyone who prefers to read. */
export function Pictured({
  caption,
  drawing,
  children,
}: {
  caption: ReactNode;
  drawing: ReactNode;
  /** The same data as a table. */
  children: ReactNode;
}): ReactNode {
  return (
    <figure className="pictured">
      {drawing}
      <figcaption>
        <details>
          <summary>{caption}</summary>
          {children}
        </details>
      </figcaption>
    </figure>
  );
}
