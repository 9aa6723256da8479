import { memo } from 'react';
import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { Link, useLocation } from 'wouter';
import { Action } from '../../ui/action.tsx';
import {
  isActive,
  removeWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
} from '../../ui/actions.ts';
import { MenuButton } from '../../ui/menu.tsx';
import { SignIn } from '../../ui/sign-in.tsx';
import { Status } from '../../ui/status.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt, toast } from '../../ui/toasts.tsx';

interface Props {
  workload: Workload;
  isChosen: boolean;
  onToggle: (name: string) => void;
}

/** A workload in a list: its status, its problem, and its actions. */
export const WorkloadRow = memo(function WorkloadRow({ workload, isChosen, onToggle }: Props): ReactNode {
  const { name, status, status_context: context, warnings = [], remote, package: source, url } = workload;
  const [, navigate] = useLocation();
  const path = `/w/${encodeURIComponent(name)}`;
  const active = isActive(workload);
  return (
    <li className="row">
      <input
        type="checkbox"
        checked={isChosen}
        aria-label={`Select ${name}`}
        onChange={() => onToggle(name)}
      />
      <div className="row-main">
        <Link href={path} className="row-title">
          {name}
        </Link>
        <span className="quiet source">
          {remote && <span className="badge">remote</span>} <ForeignText>{source}</ForeignText>
        </span>
        {context !== undefined && status !== 'running' && (
          <span className="problem">
            <ForeignText>{context}</ForeignText>
          </span>
        )}
        {warnings.length > 0 && (
          <span className="badge warning" title={warnings.join('\n')}>
            {warnings.length === 1 ? '1 warning' : `${warnings.length} warnings`}
          </span>
        )}
      </div>
      <Status status={status} />
      <div className="row-actions">
        <SignIn workload={workload} />
        <Action
          aria-label={`${active ? 'Stop' : 'Start'} ${name}`}
          disabled={status === 'removing' || status === 'stopping'}
          onClick={() => void (active ? stopWorkloads([name]) : startWorkloads([name]))}
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
      </div>
    </li>
  );
});
