import { useSyncExternalStore } from 'react';

/**
 * Whether the tab is visible. Hidden tabs close their streams, because a browser opens at most six connections to the
 * daemon for all tabs together.
 */
export function useVisible(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener);
      return () => document.removeEventListener('visibilitychange', listener);
    },
    () => document.visibilityState === 'visible',
  );
}
