import { createContext, useContext, useRef, useState } from 'react';
import { attempt } from './toasts.ts';

/** The holder of a turn that the submission of a form has begun. */
export const formHolder = 'form';

/** Runs one piece of work at a time. */
export interface Turn {
  /** Who runs it. Undefined while nothing runs. */
  holder: string | undefined;
  /** Begins the work, unless other work runs. The turn ends with the promise of the work. A failure that it does not handle is shown. */
  run: (holder: string, work: () => unknown) => void;
}

/** The turn that all actions of a form or a dialog share. */
export const SharedTurn = createContext<Turn | undefined>(undefined);

/** The turn of the surrounding form or dialog. Outside of them, each component has its own. */
export function useTurn(): Turn {
  const own = useOwnTurn();
  return useContext(SharedTurn) ?? own;
}

export function useOwnTurn(): Turn {
  const [holder, setHolder] = useState<string | undefined>();
  // A second event can arrive before the component is rendered with the state.
  const isTaken = useRef(false);
  return {
    holder,
    run(next, work) {
      if (isTaken.current) return;
      const result = work();
      if (!(result instanceof Promise)) return;
      isTaken.current = true;
      setHolder(next);
      void attempt('Cannot do that', () => result).finally(() => {
        isTaken.current = false;
        setHolder(undefined);
      });
    },
  };
}
