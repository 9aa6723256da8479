import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { useLocation } from 'wouter';
import { Action } from '../../ui/action.tsx';
import {
  isActive,
  removeWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
} from '../../ui/actions.ts';
import { MenuButton } from '../../ui/menu.tsx';
import { attempt, toast } from '../../ui/toasts.ts';

/** The actions of a workload in a list. */
export function RowActions({ workload }: { workload: Workload }): ReactNode {
  const { name, status, url } = workload;
  const [, navigate] = useLocation();
  const path = `/w/${encodeURIComponent(name)}`;
  const active = isActive(workload);
  return (
    <>
      <Action
        aria-label={`${active ? 'Stop' : 'Start'} ${name}`}
        disabled={status === 'removing' || status === 'stopping'}
        onClick={() => (active ? stopWorkloads([name]) : startWorkloads([name]))}
      >
        {active ? 'Stop' : 'Start'}
      </Action>
      <MenuButton
        label={`Actions for ${name}`}
        items={[
          { label: 'Open tools', run: () => navigate(`${path}/tools`) },
          { label: 'Open logs', run: () => navigate(`${path}/logs`) },
          { label: 'Edit', run: () => navigate(`${path}/edit`) },
          {
            label: 'Copy URL',
            isDisabled: url === '',
            run: () =>
              void attempt('Cannot copy', () => navigator.clipboard.writeText(url)).then(
                (isDone) => isDone && toast('Copied the URL'),
              ),
          },
          { label: 'Restart', run: () => void restartWorkloads([name]) },
          { label: 'Remove', isDangerous: true, run: () => removeWorkloads([name]) },
        ]}
      >
        ⋯
      </MenuButton>
    </>
  );
}
