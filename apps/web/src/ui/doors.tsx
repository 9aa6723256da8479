import type { ReactNode } from 'react';
import type { Permissions } from '@toolhive/contract/network';
import { Icon } from './drawing/icon.tsx';
import type { IconName } from './drawing/icon.tsx';
import { count } from './format.ts';
import { ForeignText } from './text.tsx';

/** One kind of access of a server. */
export interface Door {
  icon: IconName;
  title: string;
  /** How far it is open. */
  state: 'shut' | 'ajar' | 'open';
  says: string;
  /** Everything that the server gets through it. */
  names: readonly string[];
}

/** A server's access to files, the network, and secrets. */
export function doorsOf(
  { network, mounts, privileged }: Permissions,
  secrets: readonly string[],
): readonly Door[] {
  const isWritable = mounts.some(({ read_only: isReadOnly }) => !isReadOnly);
  const paths = mounts.map(
    ({ source, read_only: isReadOnly }) => `${source} (${isReadOnly ? 'read' : 'read and change'})`,
  );
  const files = { icon: 'files', title: 'Files', names: paths } as const;
  const connections = { icon: 'network', title: 'Network' } as const;
  const { private_hosts: privateHosts = [], local_ports: localPorts = [] } = network;
  const local = localPorts.map((port) => `port ${port} of this machine`);
  const hosts = [...(network.hosts ?? []), ...local];
  const isListed = network.kind === 'rules' && network.hosts !== undefined && network.enforced;
  return [
    privileged || isWritable
      ? { ...files, state: 'open', says: 'changes files' }
      : mounts.length > 0
        ? { ...files, state: 'ajar', says: 'reads files' }
        : { ...files, state: 'shut', says: 'no files' },
    network.kind === 'none' && network.enforced
      ? { ...connections, state: 'shut', says: 'no network', names: [] }
      : isListed
        ? { ...connections, state: 'ajar', says: `only ${count(hosts.length, 'host')}`, names: hosts }
        : { ...connections, state: 'open', says: 'every public host', names: [...privateHosts, ...local] },
    {
      icon: 'secrets',
      title: 'Secrets',
      names: secrets,
      ...(secrets.length > 0
        ? { state: 'ajar', says: count(secrets.length, 'secret') }
        : { state: 'shut', says: 'no secrets' }),
    },
  ];
}

/** More names are only counted. */
const maxNames = 12;

/** Doors with everything behind them. With `before`, they also show the change. */
export function Doors({
  doors,
  before,
  children,
}: {
  doors: readonly Door[];
  before?: readonly Door[] | undefined;
  /** The controls of each door, in the same order. */
  children?: readonly ReactNode[];
}): ReactNode {
  return (
    <ul className="door-cards">
      {doors.map((door, index) => (
        <li key={door.title} className={`door-card ${door.state}`}>
          <h3>
            <Icon name={door.icon} /> {door.title}
          </h3>
          <Says door={door} before={before?.[index]} />
          <Names names={door.names} before={before?.[index]?.names ?? door.names} />
          {children?.[index]}
        </li>
      ))}
    </ul>
  );
}

function Says({ door, before }: { door: Door; before: Door | undefined }): ReactNode {
  const isChanged = before !== undefined && (before.says !== door.says || before.state !== door.state);
  return (
    <p className="door-says">
      {isChanged && (
        <>
          <span className="diff-removed">{before.says}</span> <span aria-label="becomes">→</span>{' '}
        </>
      )}
      <strong>{door.says}</strong> <span className="quiet">({door.state})</span>
    </p>
  );
}

function Names({ names, before }: { names: readonly string[]; before: readonly string[] }): ReactNode {
  const removed = before.filter((name) => !names.includes(name)).map((name) => ({ name, sign: '−' }));
  const marked = names.map((name) => ({ name, sign: before.includes(name) ? '' : '+' }));
  // Changes come first, so that none of them is only counted.
  const all = [...removed, ...marked].toSorted((a, b) => Number(b.sign !== '') - Number(a.sign !== ''));
  if (all.length === 0) return null;
  return (
    <ul className="plain">
      {all
        .slice(0, Math.max(maxNames, all.filter(({ sign }) => sign !== '').length))
        .map(({ name, sign }) => (
          <li key={`${sign} ${name}`} className={signs[sign]}>
            {sign} <ForeignText>{name}</ForeignText>
          </li>
        ))}
      {all.length > maxNames && <li className="quiet">{count(all.length, 'name')} in all</li>}
    </ul>
  );
}

const signs: Readonly<Record<string, string | undefined>> = { '+': 'diff-added', '−': 'diff-removed' };
