import ElementContent from '@theme/CodeBlock/Content/Element';
import StringContent from '@theme/CodeBlock/Content/String';
import type { Props } from '@theme/CodeBlock';
import { Children, isValidElement } from 'react';
import type { ReactNode } from 'react';

/**
 * A block of code. The one that it stands in for throws away, in the browser, what the server has drawn, and draws every
 * block again for the colours of the reader's mode. Here the style sheet knows the colours of both.
 */
export default function CodeBlock({ children, ...props }: Props): ReactNode {
  // Only a text can be highlighted and copied.
  const parts = Children.toArray(children);
  return parts.some((part) => isValidElement(part)) ? (
    <ElementContent {...props}>{children}</ElementContent>
  ) : (
    <StringContent {...props}>
      {parts.map((part) => (typeof part === 'object' ? '' : `${part}`)).join('')}
    </StringContent>
  );
}
