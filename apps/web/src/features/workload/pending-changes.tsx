import { Suspense, useEffect } from 'react';
import type { ReactNode } from 'react';
import { capabilities, toolPins } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { lazily } from '../../ui/unloaded.tsx';

const ReviewedItems = lazily(() => import('./reviewed-items.tsx'));

/** Items that need a review before the server is used. Most servers have none. */
export function PendingChanges({ name }: { name: string }): ReactNode {
  const { data } = useResource(toolPins(name));
  const listedAt = useResource(capabilities(name)).data?.listed_at;
  // A first listing changes nothing, so no event tells that it has suspicious texts.
  useEffect(() => refresh(toolPins(name).key), [name, listedAt]);
  const isAny = data?.items.some(({ state, findings }) => state !== 'approved' || findings.length > 0);
  return isAny === true ? (
    <Suspense>
      <ReviewedItems name={name} />
    </Suspense>
  ) : null;
}
