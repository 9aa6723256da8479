import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { workloads } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import {
  isActive,
  removeWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
} from '../../ui/actions.ts';
import { withoutCommands } from '../../ui/format.ts';
import { MenuButton } from '../../ui/menu.tsx';
import { Page } from '../../ui/page.tsx';
import { decoded } from '../../ui/query.ts';
import { SignIn } from '../../ui/sign-in.tsx';
import { Status } from '../../ui/status.tsx';
import { Empty, SubjectIsGone } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { LearningStripe } from './learning-stripe.tsx';
import { tabs } from './tabs.ts';

/** The name of the workload in the address. */
export function useWorkloadName(): string {
  const { name = '' } = useParams();
  return decoded(name);
}

/** The heading, the status, and the tabs that all screens of a workload have. */
export function WorkloadFrame({ name, children }: { name: string; children: ReactNode }): ReactNode {
  const { data } = useResource(workloads);
  const [location, navigate] = useLocation();
  const workload = data?.find((each) => each.name === name);
  const shown = useRef<string>(undefined);
  useEffect(() => {
    if (workload !== undefined) shown.current = name;
  });
  const isGone = data !== undefined && workload === undefined;
  // A form that someone fills in stays, so that its content can be copied.
  if (isGone && shown.current !== name) {
    return (
      <Page title={name}>
        <Empty
          title="This server does not exist"
          action={
            <Link className="button" href="/">
              All servers
            </Link>
          }
        >
          It was removed, or the address is wrong.
        </Empty>
      </Page>
    );
  }
  const base = `/w/${encodeURIComponent(name)}`;
  const part = tabs.flatMap(({ views }) => views).find(([path]) => location === `${base}${path}`)?.[1];
  const active = workload !== undefined && isActive(workload);
  return (
    <Page
      title={name}
      part={part}
      help="/toolhive/guides-ui/run-mcp-servers"
      action={
        workload !== undefined && (
          <>
            <span role="status">
              <Status status={workload.status} />
            </span>
            <SignIn workload={workload} />
            <Action onClick={() => (active ? stopWorkloads([name]) : startWorkloads([name]))}>
              {active ? 'Stop' : 'Start'}
            </Action>
            <Action onClick={() => restartWorkloads([name])}>Restart</Action>
            <MenuButton
              label={`More actions for ${name}`}
              items={[
                { label: 'Duplicate', run: () => navigate(`/add?duplicate=${encodeURIComponent(name)}`) },
                {
                  label: 'Remove',
                  isDangerous: true,
                  run: () => {
                    removeWorkloads([name]);
                    navigate('/');
                  },
                },
              ]}
            >
              ⋯
            </MenuButton>
          </>
        )
      }
    >
      {isGone && (
        <div className="notice warning" role="alert">
          <p>This server was removed elsewhere. This page keeps your input.</p>
          <Link className="button" href="/">
            All servers
          </Link>
        </div>
      )}
      <Tabs base={base} />
      {workload !== undefined && !workload.remote && <LearningStripe name={name} />}
      {workload?.status_context !== undefined && workload.status !== 'running' && (
        <div
          className={`notice ${workload.status === 'error' || workload.status === 'unhealthy' ? 'failure' : ''}`}
        >
          <ForeignText>{withoutCommands(workload.status_context)}</ForeignText>
        </div>
      )}
      <SubjectIsGone value={isGone}>{children}</SubjectIsGone>
    </Page>
  );
}

/** The three tabs, and the views of the current one. */
function Tabs({ base }: { base: string }): ReactNode {
  const [location] = useLocation();
  const isCurrent = (path: string): boolean => location === `${base}${path}`;
  const current = tabs.find(({ views }) => views.some(([path]) => isCurrent(path)));
  return (
    <>
      <nav aria-label="Server" className="tabs">
        {tabs.map(({ label, views }) => (
          <Link
            key={label}
            href={`${base}${views[0][0]}`}
            aria-current={label === current?.label ? (isCurrent(views[0][0]) ? 'page' : 'true') : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {current !== undefined && current.views.length > 1 && (
        <nav aria-label={`Views of ${current.label}`} className="tabs views">
          {current.views.map(([path, label]) => (
            <Link key={path} href={`${base}${path}`} aria-current={isCurrent(path) ? 'page' : undefined}>
              {label}
            </Link>
          ))}
        </nav>
      )}
    </>
  );
}
