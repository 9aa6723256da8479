import type { UseDocSearchKeyboardEventsProps } from '@docsearch/react';
import { useEffect, useLayoutEffect, useRef } from 'react';

/**
 * DocSearch's keys: Ctrl+K and Cmd+K open and close, a slash opens, Escape takes back. Its own hook listens anew each
 * time that something is drawn, and a key that is pressed while one listener has gone and the next has not come, as when
 * a page has just been opened, is lost. This one listens once.
 */
export function useDocSearchKeyboardEvents(now: UseDocSearchKeyboardEventsProps): void {
  const latest = useRef(now);
  useLayoutEffect(() => {
    latest.current = now;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { isOpen, onOpen, onClose, isAskAiActive, onAskAiToggle } = latest.current;
      if (isOpen && event.key === 'Escape' && isAskAiActive) {
        onAskAiToggle(false);
        return;
      }
      const isAsked =
        (/^k$/i.test(event.key) && (event.metaKey || event.ctrlKey)) ||
        (isOpen ? event.key === 'Escape' : event.key === '/' && !isTypedInto(event.composedPath()[0]));
      if (!isAsked) return;
      event.preventDefault();
      if (isOpen) onClose();
      else onOpen();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
}

const isTypedInto = (target: EventTarget | undefined): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, select, textarea'));
