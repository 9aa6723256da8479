import { useEffect, useId, useRef } from 'react';
import type { ReactNode } from 'react';

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
      <div className="dialog-content">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
