import { useRef, useSyncExternalStore } from 'react';
import type { FocusEvent, ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { Fixes } from './fixes.tsx';
import { ForeignText } from './text.tsx';
import { dismiss, shownToasts, subscribeToToasts } from './toasts.ts';
import { useTopDialog } from './top-dialog.ts';

/**
 * The messages at the edge of the page, or within the modal dialog that makes the page inert. Screen readers announce
 * only additions to an element that they know, so the region exists without messages, too.
 */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribeToToasts, shownToasts);
  const dialog = useTopDialog();
  const before = useRef<Element | null>(null);
  const keepPlace = ({ currentTarget, relatedTarget }: FocusEvent): void => {
    if (!currentTarget.contains(relatedTarget)) before.current = relatedTarget;
  };
  const close = (id: number): void => {
    const next =
      before.current?.isConnected === true ? before.current : (dialog ?? document.querySelector('main h1'));
    if (next instanceof HTMLElement) next.focus({ preventScroll: true });
    dismiss(id);
  };
  return createPortal(
    <div className="toasts" role="region" aria-label="Notifications" aria-live="polite" onFocus={keepPlace}>
      {shown.map(({ id, text, advice, kind, action }) => (
        <div key={id} className={`toast ${kind}`} role={kind === 'failure' ? 'alert' : undefined}>
          <span id={`toast-${id}`}>
            <ForeignText>{text}</ForeignText>
            {advice !== undefined && <Fixes hint={advice.hint} fixes={advice.fixes} />}
          </span>
          {action !== undefined && (
            <button
              type="button"
              aria-describedby={`toast-${id}`}
              onClick={() => {
                close(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button
            type="button"
            className="icon"
            aria-label="Dismiss"
            aria-describedby={`toast-${id}`}
            onClick={() => close(id)}
          >
            ×
          </button>
        </div>
      ))}
    </div>,
    dialog ?? document.body,
  );
}
