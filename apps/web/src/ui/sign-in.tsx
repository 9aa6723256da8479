import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { client } from '../api/client.ts';
import { refresh } from '../api/store.ts';
import { Action } from './action.tsx';
import { ForeignLink, plainForeign } from './text.tsx';
import { attempt } from './toasts.ts';

/** Lets the user sign in to a remote server that requires it. Shows nothing for all others. */
export function SignIn({ workload: { name, sign_in: required } }: { workload: Workload }): ReactNode {
  if (required === undefined) return null;
  if (required.url !== undefined) return <ForeignLink url={required.url}>Sign in</ForeignLink>;
  return (
    <Action
      className="primary"
      aria-label={`Sign in to ${name}`}
      title={plainForeign(required.why)}
      onClick={() => start(name)}
    >
      Sign in
    </Action>
  );
}

/** The link to the page appears as soon as the workload has it. */
async function start(name: string): Promise<void> {
  await attempt('Cannot start the sign-in', () => client.signInWorkload({ params: { name } }));
  refresh('workloads');
}
