import { useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { Fixes } from './fixes.tsx';
import { ForeignText } from './text.tsx';
import { dismiss, shownToasts, subscribeToToasts } from './toasts.ts';

/** The messages at the edge of the page. */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribeToToasts, shownToasts);
  return (
    <div className="toasts" role="region" aria-label="Notifications">
      {shown.map(({ id, text, advice, kind, action }) => (
        <div key={id} className={`toast ${kind}`} role={kind === 'failure' ? 'alert' : 'status'}>
          <span>
            <ForeignText>{text}</ForeignText>
            {advice !== undefined && <Fixes hint={advice.hint} fixes={advice.fixes} />}
          </span>
          {action !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" className="icon" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
