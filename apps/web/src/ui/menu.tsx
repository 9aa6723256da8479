import { useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { flushSync } from 'react-dom';

export interface MenuItem {
  label: string;
  run: () => void;
  isDangerous?: boolean;
  isDisabled?: boolean;
}

/**
 * A button that opens a menu (ARIA Authoring Practices, menu button). A list can have a thousand of them, so the items
 * exist only while the menu is open.
 */
export function MenuButton({
  label,
  items,
  isBusy = false,
  className = 'icon',
  children,
}: {
  label: string;
  items: readonly MenuItem[];
  /** One of its items runs, so that the menu does not open. */
  isBusy?: boolean;
  className?: string;
  children: ReactNode;
}): ReactNode {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const choices = [
      ...(menu.current?.querySelectorAll<HTMLButtonElement>('[role=menuitem]:not(:disabled)') ?? []),
    ];
    const current = choices.indexOf(document.activeElement as HTMLButtonElement); // -1 for any other element
    const next = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      choices.at(next % choices.length)?.focus();
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      menu.current?.hidePopover();
      button.current?.focus();
    }
  };
  return (
    <span className="menu-button">
      <button
        ref={button}
        type="button"
        className={className}
        aria-label={label}
        aria-haspopup="menu"
        aria-busy={isBusy || undefined}
        aria-disabled={isBusy || undefined}
        popoverTarget={isBusy ? undefined : id}
      >
        {children}
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        className="menu"
        onKeyDown={onKeyDown}
        onBeforeToggle={({ newState }) => {
          if (newState === 'open') flushSync(() => setOpen(true));
        }}
        onToggle={({ newState, currentTarget }) => {
          if (newState !== 'open') {
            setOpen(false);
            return;
          }
          place(currentTarget, button.current);
          currentTarget.querySelector<HTMLButtonElement>('[role=menuitem]')?.focus();
        }}
      >
        {(isOpen ? items : []).map(({ label: itemLabel, run, isDangerous, isDisabled }) => (
          <button
            key={itemLabel}
            type="button"
            role="menuitem"
            tabIndex={-1}
            disabled={isDisabled}
            className={isDangerous === true ? 'dangerous' : undefined}
            onClick={() => {
              menu.current?.hidePopover();
              run();
            }}
          >
            {itemLabel}
          </button>
        ))}
      </div>
    </span>
  );
}

/** Places an open popover below its button, or above without enough space. */
function place(popover: HTMLElement, button: HTMLElement | null): void {
  if (button === null) return;
  const anchor = button.getBoundingClientRect();
  const { width, height } = popover.getBoundingClientRect();
  const below = anchor.bottom + height + 8 <= window.innerHeight;
  popover.style.top = `${below ? anchor.bottom + 4 : Math.max(4, anchor.top - height - 4)}px`;
  popover.style.left = `${Math.max(4, Math.min(anchor.right - width, window.innerWidth - width - 4))}px`;
}
