import type { ReactNode } from 'react';
import { clientLogos } from './client-logos.ts';

/** The number of colors of marks in the styles. */
const colors = 6;

/** The logo of a client, or its initials in a color of its own, beside its name. */
export function ClientMark({ id, product }: { id: string; product: string }): ReactNode {
  const logo = Object.hasOwn(clientLogos, id) ? clientLogos[id] : undefined;
  const [first = '', second = ''] = product.split(' ');
  const sum = Array.from(id).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return (
    <svg
      className={`mark ${logo === undefined ? `mark-${sum % colors}` : 'logo'}`}
      viewBox="0 0 32 32"
      width="32"
      height="32"
      aria-hidden="true"
    >
      <rect width="32" height="32" rx="7" />
      {logo === undefined ? (
        <text x="16" y="21" textAnchor="middle">
          {`${first[0] ?? ''}${second[0] ?? ''}`.toUpperCase()}
        </text>
      ) : (
        <path d={logo} transform="translate(6 6) scale(0.8333)" />
      )}
    </svg>
  );
}
