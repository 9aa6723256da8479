import ElementContent from '@theme/CodeBlock/Content/Element';
import StringContent from '@theme/CodeBlock/Content/String';
import type { Props } from '@theme/CodeBlock';
import { clsx } from 'clsx';
import { Children, isValidElement } from 'react';
import type { ReactNode } from 'react';

/**
 * A code block. The original discards the HTML from the server and renders every block again for the color mode of the
 * reader. Here, the style sheet contains the colors of both modes.
 */
export default function CodeBlock({ children, ...props }: Props): ReactNode {
  // Only a text can be highlighted and copied.
  const parts = Children.toArray(children);
  if (parts.some((part) => isValidElement(part)))
    return <ElementContent {...props}>{children}</ElementContent>;
  const text = parts.map((part) => (typeof part === 'object' ? '' : `${part}`)).join('');
  return (
    <StringContent {...props} className={clsx(props.className, hasTable.test(text) && 'text-table')}>
      {text}
    </StringContent>
  );
}

/** A line of at least three heads, as commands print it above columns. `…` is in the place of heads. */
const hasTable = /^[A-Z][A-Z ]*(?: {3,}(?:…|[A-Z][A-Z ]*)){2,}$/m;
