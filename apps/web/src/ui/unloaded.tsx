import { lazy, useEffect, useRef } from 'react';
import type { ComponentType, LazyExoticComponent, ReactNode } from 'react';
import { useConnection } from '../api/store.ts';
import { Page } from './page.tsx';
import { Notice } from './states.tsx';

/** The script of a screen could not be loaded: the daemon is gone, or serves another version. */
export class UnloadedScreen extends Error {}

/** A part of a screen that is loaded when it is first shown. */
export function lazily<Props>(
  load: () => Promise<{ default: ComponentType<Props> }>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(() =>
    load().catch((cause: unknown) => {
      throw new UnloadedScreen('a part of the screen could not be loaded', { cause });
    }),
  );
}

/** Stands in for such a screen. A failed script is never loaded again, so the page is, as soon as the daemon is back. */
export function Unloaded(): ReactNode {
  const { connection } = useConnection();
  const wasLost = useRef(false);
  useEffect(() => {
    if (connection === 'lost') wasLost.current = true;
    else if (connection === 'live' && wasLost.current) location.reload();
  }, [connection]);
  return (
    <Page title="Not loaded">
      <Notice>
        {connection === 'lost' ? (
          <p>This screen was not opened before. It appears when the daemon responds again.</p>
        ) : (
          <>
            <p>The daemon did not send this screen. It may have been updated.</p>
            <button type="button" onClick={() => location.reload()}>
              Reload the page
            </button>
          </>
        )}
      </Notice>
    </Page>
  );
}
