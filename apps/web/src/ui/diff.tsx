import type { ReactNode } from 'react';
import { ForeignText } from './text.tsx';

/** A unified diff, with added and removed lines marked by color and sign. */
export function Diff({ text }: { text: string }): ReactNode {
  return (
    <pre>
      <code>
        {text.split('\n').map((line, index) => (
          <span
            key={index}
            className={
              line.startsWith('+') ? 'diff-added' : line.startsWith('-') ? 'diff-removed' : undefined
            }
          >
            <ForeignText>{line}</ForeignText>
            {'\n'}
          </span>
        ))}
      </code>
    </pre>
  );
}
