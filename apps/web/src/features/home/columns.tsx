import type { ReactNode } from 'react';
import type { Group } from '@toolhive/contract/group';
import type { Workload, WorkloadAccess } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { isActive } from '../../ui/actions.ts';
import type { Door } from '../../ui/doors.tsx';
import { Icon } from '../../ui/drawing/icon.tsx';
import { Sparkline } from '../../ui/drawing/sparkline.tsx';
import { count, duration } from '../../ui/format.ts';
import { SignIn } from '../../ui/sign-in.tsx';
import { Status } from '../../ui/status.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Middle } from '../../ui/table/middle.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import type { Figures } from './figures.ts';
import { RowActions } from './row-actions.tsx';

/** A workload with everything that its row shows. */
export interface HomeRow {
  workload: Workload;
  figures: Figures | undefined;
  group: Group | undefined;
}

/** Problems come first. */
const ranks = {
  error: 0,
  unhealthy: 1,
  removing: 2,
  stopping: 3,
  starting: 4,
  running: 5,
  unknown: 6,
  stopped: 7,
} as const;

export const homeColumns: readonly Column<HomeRow>[] = [
  {
    id: 'name',
    head: 'Name',
    width: 9,
    grow: 2,
    order: ({ workload: { name } }) => name,
    cell: ({ workload }) => <NameAndProblem workload={workload} />,
  },
  {
    id: 'state',
    head: 'State',
    width: 7,
    order: ({ workload: { status } }) => ranks[status],
    cell: ({ workload }) =>
      workload.sign_in === undefined ? <Status status={workload.status} /> : <SignIn workload={workload} />,
  },
  {
    id: 'source',
    head: 'Source',
    width: 8,
    grow: 3,
    rank: 9,
    order: ({ workload: { package: source } }) => source,
    cell: ({ workload }) => <Source workload={workload} />,
  },
  {
    id: 'group',
    head: 'Group',
    width: 6,
    grow: 1,
    rank: 8,
    order: ({ workload: { group } }) => group,
    cell: ({ workload: { group } }) => <Link href={`/groups/${encodeURIComponent(group)}`}>{group}</Link>,
  },
  {
    id: 'clients',
    head: 'Clients',
    width: 5,
    rank: 7,
    order: ({ group, figures }) => figures?.clients.length ?? group?.registered_clients.length,
    cell: (row) => <ClientDots {...row} />,
  },
  {
    id: 'calls',
    head: 'Last hour',
    kind: 'number',
    width: 6.5,
    rank: 4,
    order: ({ figures }) => figures?.calls,
    cell: ({ figures }) => <CallLine figures={figures} />,
  },
  {
    id: 'median',
    head: 'Median',
    kind: 'number',
    width: 4.5,
    rank: 6,
    order: ({ figures }) => figures?.medianMs,
    cell: ({ figures }) => (figures?.medianMs === undefined ? null : duration(figures.medianMs)),
  },
  {
    id: 'errors',
    head: 'Errors',
    kind: 'number',
    width: 4.25,
    rank: 3,
    order: ({ figures }) => figures?.errors,
    cell: ({ figures }) =>
      figures === undefined || figures.errors === 0 ? null : (
        <span className="problem">{figures.errors.toLocaleString('en')}</span>
      ),
  },
  {
    id: 'access',
    head: 'Access',
    width: 4.5,
    rank: 5,
    order: ({ workload: { access } }) => access && openness(access),
    cell: ({ workload: { access } }) => access && <Doors access={access} />,
  },
  {
    id: 'tokens',
    head: 'Tokens',
    kind: 'number',
    width: 5,
    rank: 7.5,
    order: ({ workload: { tool_tokens: tokens } }) => tokens,
    cell: ({ workload: { tool_tokens: tokens } }) => tokens?.toLocaleString('en'),
  },
  {
    id: 'update',
    head: 'Update',
    width: 5.5,
    rank: 10,
    order: ({ workload: { newer_version: newer } }) => newer,
    cell: ({ workload: { name, newer_version: newer } }) =>
      newer && (
        <Link href={`/w/${encodeURIComponent(name)}`}>
          <ForeignText>{newer}</ForeignText>
        </Link>
      ),
  },
  {
    id: 'actions',
    head: 'Actions',
    kind: 'actions',
    width: 6.75,
    cell: ({ workload }) => <RowActions workload={workload} />,
  },
];

function NameAndProblem({
  workload: { name, remote, status, status_context: context },
}: {
  workload: Workload;
}): ReactNode {
  const isProblem = status === 'error' || status === 'unhealthy';
  return (
    <>
      <Link href={`/w/${encodeURIComponent(name)}`} aria-label={name}>
        <Middle>{name}</Middle>
      </Link>{' '}
      {remote && <span className="badge">remote</span>}
      {context !== undefined && status !== 'running' && (
        <span className={`second-line ${isProblem ? 'problem' : 'quiet'}`}>
          <ForeignText>{context}</ForeignText>
        </span>
      )}
    </>
  );
}

function Source({ workload: { warnings = [], package: source } }: { workload: Workload }): ReactNode {
  return (
    <span className="source">
      {warnings.length > 0 && (
        <span className="badge warning" title={plainForeign(warnings.join('\n'))}>
          {count(warnings.length, 'warning')}
        </span>
      )}
      <Middle>{source}</Middle>
    </span>
  );
}

/** A letter for each client: filled if it has called in the last hour, otherwise only registered. */
function ClientDots({ group, figures }: HomeRow): ReactNode {
  const callers = figures?.clients ?? [];
  const registered = (group?.registered_clients ?? []).filter(
    (name) => !callers.some((caller) => caller.toLowerCase().startsWith(name)),
  );
  const all = [
    ...callers.map((name) => ({ name: plainForeign(name), isCalling: true })),
    ...registered.map((name) => ({ name, isCalling: false })),
  ];
  if (all.length === 0) return null;
  const label = all
    .map(({ name, isCalling }) => `${name} (${isCalling ? 'called in the last hour' : 'registered'})`)
    .join(', ');
  return (
    <span className="dots" role="img" aria-label={label} title={label}>
      {all.slice(0, 3).map(({ name, isCalling }) => (
        <span key={`${name} ${isCalling}`} className={isCalling ? 'dot filled' : 'dot'}>
          {Array.from(name)[0]?.toUpperCase()}
        </span>
      ))}
      {all.length > 3 && <span className="quiet">+{all.length - 3}</span>}
    </span>
  );
}

export function CallLine({ figures }: { figures: Figures | undefined }): ReactNode {
  if (figures === undefined) return <span className="quiet">no calls</span>;
  const { calls, errors, perMinute } = figures;
  return (
    <Sparkline
      values={perMinute.calls}
      problems={perMinute.errors}
      label={`${count(calls, 'call')} and ${count(errors, 'error')} in the last hour`}
    />
  );
}

/** The access of a server as three doors. */
function Doors({ access }: { access: WorkloadAccess }): ReactNode {
  const doors = briefDoors(access);
  const label = doors.map(({ says }) => says).join(', ');
  return (
    <span className="doors" role="img" aria-label={label} title={label}>
      {doors.map(({ icon, state }) => (
        <span key={icon} className={`door ${state}`}>
          <Icon name={icon} />
        </span>
      ))}
    </span>
  );
}

type BriefDoor = Pick<Door, 'icon' | 'state' | 'says'>;

const files: Record<WorkloadAccess['files'], Omit<BriefDoor, 'icon'>> = {
  none: { state: 'shut', says: 'no files' },
  read: { state: 'ajar', says: 'reads files' },
  write: { state: 'open', says: 'changes files' },
};

const networks: Record<WorkloadAccess['network'], Omit<BriefDoor, 'icon'>> = {
  none: { state: 'shut', says: 'no network' },
  hosts: { state: 'ajar', says: 'only some hosts' },
  public: { state: 'open', says: 'every public host' },
  any: { state: 'open', says: 'every host' },
};

function briefDoors(access: WorkloadAccess): BriefDoor[] {
  const says = access.hosts === undefined ? {} : { says: `only ${count(access.hosts, 'host')}` };
  return [
    { icon: 'files', ...files[access.files] },
    { icon: 'network', ...networks[access.network], ...says },
    access.secrets > 0
      ? { icon: 'secrets', state: 'ajar', says: count(access.secrets, 'secret') }
      : { icon: 'secrets', state: 'shut', says: 'no secrets' },
  ];
}

/** The more doors are open, the higher. */
function openness(access: WorkloadAccess): number {
  const weights = { shut: 0, ajar: 1, open: 10 };
  return briefDoors(access).reduce((sum, { state }) => sum + weights[state], 0);
}

/** Whether a filter finds a workload: each word in its name, group, status, source, or labels. */
export function isMatch({ name, group, status, labels, package: source }: Workload, query: string): boolean {
  const texts = [name, group, status, source, ...Object.entries(labels ?? {}).map((pair) => pair.join('='))];
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => texts.some((text) => text.toLowerCase().includes(word)));
}

export function summary(list: readonly Workload[]): string {
  const active = list.filter(isActive).length;
  const failed = list.filter(({ status }) => status === 'error' || status === 'unhealthy').length;
  return `${count(list.length, 'server')}, ${active} running${failed === 0 ? '' : `, ${failed} with a problem`}`;
}
