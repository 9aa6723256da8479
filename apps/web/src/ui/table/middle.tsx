import type { ReactNode } from 'react';
import { ForeignText } from '../text.tsx';

/** The characters at the end that are always visible. */
const ending = 14;

/** A text whose middle gives way where there is not enough room, because its end tells it apart: a version, a file. */
export function Middle({ children }: { children: string }): ReactNode {
  const characters = Array.from(children);
  if (characters.length <= 2 * ending) return <ForeignText>{children}</ForeignText>;
  return (
    <span className="middle">
      <span>
        <ForeignText>{characters.slice(0, -ending).join('')}</ForeignText>
      </span>
      <span>
        <ForeignText>{characters.slice(-ending).join('')}</ForeignText>
      </span>
    </span>
  );
}
