import type { ReactNode } from 'react';

/** The number of colors of marks in the styles. */
const colors = 6;

/** A client's initials in a color of its own, beside its name. */
export function ClientMark({ id, product }: { id: string; product: string }): ReactNode {
  const [first = '', second = ''] = product.split(' ');
  const sum = Array.from(id).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <svg
      className={`mark mark-${sum % colors}`}
      viewBox="0 0 32 32"
      width="32"
      height="32"
      aria-hidden="true"
    >
      <rect width="32" height="32" rx="7" />
      <text x="16" y="21" textAnchor="middle">
        {`${first[0] ?? ''}${second[0] ?? ''}`.toUpperCase()}
      </text>
    </svg>
  );
}
