import { useId } from 'react';
import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import { useConnection } from '../api/store.ts';
import { formHolder, useTurn } from './turn.ts';

/**
 * A button for something that the daemon does. A second activation does nothing until the promise of the first one has
 * settled, and neither does any activation while the daemon does not respond. Such a button keeps the focus, which a
 * disabled element would lose.
 */
export function Action({
  disabled = false,
  type = 'button',
  onClick,
  ...props
}: Omit<ComponentProps<'button'>, 'onClick'> & {
  /** The button is busy until a returned promise has settled. */
  onClick?: (event: MouseEvent<HTMLButtonElement>) => unknown;
}): ReactNode {
  const id = useId();
  const { connection } = useConnection();
  const turn = useTurn();
  const isBusy = turn.holder === (onClick === undefined && type === 'submit' ? formHolder : id);
  const isOff = disabled || turn.holder !== undefined || connection === 'lost';
  return (
    <button
      type={type}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      onKeyDown={(event) => {
        // A key that is held down activates a button again and again.
        if (event.repeat && event.key === 'Enter') event.preventDefault();
      }}
      onClick={(event) => {
        // The second click of a double click must not act on a button that the first one has changed.
        if (isOff || event.detail > 1) event.preventDefault();
        else turn.run(id, () => onClick?.(event));
      }}
      {...props}
    />
  );
}
