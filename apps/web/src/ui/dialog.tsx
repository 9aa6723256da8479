import { useEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';
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
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={className}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) event.currentTarget.close(); // the backdrop
      }}
    >
      <SharedTurn value={turn}>
        <div className="dialog-content">
          <h2 id={id}>{title}</h2>
          {children}
        </div>
      </SharedTurn>
    </dialog>
  );
}
