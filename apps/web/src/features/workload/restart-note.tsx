import type { ReactNode } from 'react';
import { sessions } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { count } from '../../ui/format.ts';

/** The cost of a change that restarts the workload. */
export function RestartNote({ name }: { name: string }): ReactNode {
  const { data: open = [] } = useResource(sessions(name));
  return (
    <p>
      {open.length === 0
        ? 'The server restarts.'
        : `The server restarts, which ends ${count(open.length, 'open session')}.`}
    </p>
  );
}
