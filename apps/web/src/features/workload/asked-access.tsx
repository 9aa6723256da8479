import { Suspense } from 'react';
import type { ReactNode } from 'react';
import { lazily } from '../../ui/unloaded.tsx';

/** A change of a server's access that the user has begun. */
export type Ask =
  | { kind: 'files' }
  | { kind: 'network' }
  /** With the name of the variable that the server misses. */
  | { kind: 'secrets'; variable?: string | undefined }
  /** A host, or a host and a port as in `api.example.com:443`. */
  | { kind: 'allow'; place: string }
  | { kind: 'deny'; host: string }
  | { kind: 'tighten' }
  | { kind: 'learn' };

const AccessDialog = lazily(() => import('./access-dialog.tsx'));

/** The dialog for every change of access, which is loaded when it is first needed. */
export function AskedAccess(props: { name: string; ask: Ask; onClose: () => void }): ReactNode {
  return (
    <Suspense>
      <AccessDialog {...props} />
    </Suspense>
  );
}

/**
 * The place that a rule has to allow for a denied connection. The daemon names it in the fix, and it can differ from the
 * host: an allowed name may lead to an address that needs a rule of its own. Undefined if no rule can allow it.
 */
export function placeToAllow(fix: string | undefined): string | undefined {
  return fix?.split(' ').at(-1);
}
