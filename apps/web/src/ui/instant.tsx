import { useId, useState } from 'react';
import type { ComponentProps, ReactNode } from 'react';
import { useConnection } from '../api/store.ts';
import { useTurn } from './turn.ts';

/**
 * A checkbox or a switch for something that the daemon does at once. Until the promise of a change has settled, the box
 * shows the wanted state and cannot be changed again. Afterwards it shows the real state, also that of a change that failed.
 */
export function Instant({
  isOn,
  onChange,
  isSwitch = false,
  isDisabled = false,
  children,
  ...attributes
}: Pick<ComponentProps<'input'>, 'aria-label' | 'aria-describedby'> & {
  isOn: boolean;
  /** The box is busy until a returned promise has settled, which should include the reload of the state. */
  onChange: (isOn: boolean) => unknown;
  isSwitch?: boolean;
  isDisabled?: boolean;
  children: ReactNode;
}): ReactNode {
  const id = useId();
  const { connection } = useConnection();
  const turn = useTurn();
  const [wanted, setWanted] = useState(isOn);
  const isBusy = turn.holder === id;
  const isOff = isDisabled || turn.holder !== undefined || connection === 'lost';
  return (
    <label className="choice" aria-busy={isBusy || undefined}>
      <input
        {...attributes}
        type="checkbox"
        role={isSwitch ? 'switch' : undefined}
        checked={isBusy ? wanted : isOn}
        disabled={isDisabled}
        aria-disabled={isOff || undefined}
        aria-busy={isBusy || undefined}
        onChange={({ target }) => {
          if (isOff) return;
          setWanted(target.checked);
          turn.run(id, () => onChange(target.checked));
        }}
      />
      {children}
    </label>
  );
}
