import ElementContent from '@theme/CodeBlock/Content/Element';
import StringContent from '@theme/CodeBlock/Content/String';
import type { Props } from '@theme/CodeBlock';
import { Children, isValidElement } from 'react';
import type { ReactNode } from 'react';

/**
 * A code block. The original discards the HTML from the server and renders every block again for the color mode of the
 * reader. Here, the style sheet contains the colors of both modes.
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
