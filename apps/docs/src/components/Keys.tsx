import { Fragment } from 'react';
import type { ReactNode } from 'react';

/** Keys that are pressed together: `<Keys keys="Ctrl K" />`. */
export function Keys({ keys }: { keys: string }): ReactNode {
  return (
    <span>
      {keys.split(' ').map((key, index) => (
        <Fragment key={key}>
          {index > 0 && ' + '}
          <kbd>{key}</kbd>
        </Fragment>
      ))}
    </span>
  );
}
