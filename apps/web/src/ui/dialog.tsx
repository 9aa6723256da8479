import { useEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';
import { ForeignText } from './text.tsx';
import { enterDialog } from './top-dialog.ts';
import { SharedTurn, useOwnTurn } from './turn.ts';

/** A modal dialog. It closes with Escape, and the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  className,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const turn = useOwnTurn();
  const isPressedOutside = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    const leave = dialog.current === null ? undefined : enterDialog(dialog.current);
    return () => {
      leave?.();
      // The browser only restores the focus of a dialog that is closed before its element is removed.
      if (document.activeElement !== document.body) return;
      const isLeft = before instanceof HTMLElement && before !== document.body && before.isConnected;
      const next = isLeft ? before : document.querySelector<HTMLElement>('main h1');
      next?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={className}
      aria-labelledby={id}
      onClose={onClose}
      onPointerDown={(event) => {
        isPressedOutside.current = event.target === event.currentTarget;
      }}
      onClick={(event) => {
        // The backdrop. The selection of a text can end there, too.
        if (event.target === event.currentTarget && isPressedOutside.current) event.currentTarget.close();
      }}
    >
      <SharedTurn value={turn}>
        <div className="dialog-content">
          <h2 id={id}>
            <ForeignText>{title}</ForeignText>
          </h2>
          {children}
        </div>
      </SharedTurn>
    </dialog>
  );
}
