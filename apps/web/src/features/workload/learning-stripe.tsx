import { Suspense, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { LearningMode } from '@toolhive/contract/network';
import { permissions } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { ago, remaining } from '../../ui/format.ts';
import { lazily } from '../../ui/unloaded.tsx';

const LearningDialog = lazily(() => import('./learning-dialog.tsx'));

/** A reminder on every screen of a server that it reaches more than its profile allows, or has a record of that. */
export function LearningStripe({ name }: { name: string }): ReactNode {
  const { data } = useResource(permissions(name));
  const [isReviewing, setReviewing] = useState(false);
  if (data === undefined) return null;
  const { learning, learned } = data;
  if (learning === undefined && learned === undefined) return null;
  return (
    <>
      <div className={`notice stripe ${learning === undefined ? '' : 'failure'}`} role="status">
        {learning === undefined ? (
          <p>
            <strong>Learning</strong> ended by its time. The server has its earlier access, and the record is
            not applied.
          </p>
        ) : (
          <Reminder learning={learning} />
        )}
        <Action onClick={() => setReviewing(true)}>
          {learning === undefined ? 'Review the record' : 'Stop learning'}
        </Action>
      </div>
      {isReviewing && (
        <Suspense>
          <LearningDialog name={name} onClose={() => setReviewing(false)} />
        </Suspense>
      )}
    </>
  );
}

/** How often the remaining time is updated. */
const tickMs = 10_000;

function Reminder({ learning: { since, until } }: { learning: LearningMode }): ReactNode {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), tickMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <p>
      <strong>Learning</strong> began {ago(since, now)}
      {until !== undefined && ` and ends in ${remaining(until, now)}`}. Until{' '}
      {until === undefined ? 'you stop it' : 'then'}, the server can reach every public host.
    </p>
  );
}
