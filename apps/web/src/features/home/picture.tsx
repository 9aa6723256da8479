import { memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import type { Group } from '@toolhive/contract/group';
import type { History } from '@toolhive/contract/history';
import type { Workload } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { groups, lastConnections } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { Pictured } from '../../ui/drawing/pictured.tsx';
import { Topology } from '../../ui/drawing/topology.tsx';
import type { TopologyLink, TopologyNode } from '../../ui/drawing/topology.tsx';
import { count } from '../../ui/format.ts';
import { Table } from '../../ui/table/table.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { ForeignText, plainForeign } from '../../ui/text.tsx';

/** The most nodes in a column of the picture. The table below has all connections. */
const maxNodes = 7;

/** A connection of the last hour between a client and a server, or between a server and a host. */
interface Connection {
  kind: 'client' | 'host';
  workload: string;
  /** The client or the host, as it is named outside. */
  other: string;
  calls: number;
  errors: number;
  denied: number;
}

/** The calls of clients in the last hour, and the connections of servers to hosts. */
export const Picture = memo(function Picture({ list }: { list: readonly Workload[] }): ReactNode {
  const { data: callers } = useResource(lastConnections('client'));
  const { data: hosts } = useResource(lastConnections('host'));
  const { data: allGroups } = useResource(groups);
  const connections = useMemo(() => {
    const names = new Set(list.map(({ name }) => name));
    return [...connectionsOf('client', callers), ...connectionsOf('host', hosts)].filter(({ workload }) =>
      names.has(workload),
    );
  }, [list, callers, hosts]);
  const { columns, links } = useMemo(
    () => draw(list, connections, allGroups ?? []),
    [list, connections, allGroups],
  );
  const [calls, denied] = [
    sum(connections.filter(({ kind }) => kind === 'client').map((each) => each.calls)),
    sum(connections.map((each) => each.denied)),
  ];
  return (
    <Pictured
      caption={`The last hour: ${count(calls, 'call')}, ${denied === 0 ? 'nothing denied' : `${denied.toLocaleString('en')} denied`}`}
      drawing={<Topology columns={columns} links={links} label="Clients, servers, and hosts" />}
    >
      {connections.length === 0 ? (
        <p>No client has called a server, and no server has reached a host.</p>
      ) : (
        <Table
          label="Connections of the last hour"
          columns={tableColumns}
          rows={connections}
          keyOf={({ kind, workload, other }) => `${kind} ${workload} ${other}`}
          firstSort={{ id: 'calls', isDescending: true }}
        />
      )}
    </Pictured>
  );
});

const tableColumns: readonly Column<Connection>[] = [
  {
    id: 'from',
    head: 'From',
    width: 8,
    grow: 1,
    order: ({ kind, workload, other }) => (kind === 'client' ? other : workload),
    cell: ({ kind, workload, other }) => <ForeignText>{kind === 'client' ? other : workload}</ForeignText>,
  },
  {
    id: 'to',
    head: 'To',
    width: 8,
    grow: 1,
    order: ({ kind, workload, other }) => (kind === 'host' ? other : workload),
    cell: (connection) => (
      <Link href={hrefOf(connection)}>
        <ForeignText>{connection.kind === 'host' ? connection.other : connection.workload}</ForeignText>
      </Link>
    ),
  },
  {
    id: 'calls',
    head: 'Calls',
    kind: 'number',
    width: 5,
    order: ({ calls }) => calls,
    cell: ({ calls }) => calls.toLocaleString('en'),
  },
  {
    id: 'errors',
    head: 'Errors',
    kind: 'number',
    width: 5,
    order: ({ errors }) => errors,
    cell: ({ errors }) => errors.toLocaleString('en'),
  },
  {
    id: 'denied',
    head: 'Denied',
    kind: 'number',
    width: 5,
    order: ({ denied }) => denied,
    cell: ({ denied }) => denied.toLocaleString('en'),
  },
];

function connectionsOf(kind: Connection['kind'], history: History | undefined): Connection[] {
  return (history?.series ?? []).map(
    ({ workload, name, is_rest: isRest, calls, errors, denied }): Connection => ({
      kind,
      workload,
      other: name ?? (isRest === true ? 'all others' : 'unknown'),
      calls,
      errors,
      denied,
    }),
  );
}

function hrefOf({ kind, workload, other }: Connection): string {
  const page = `/w/${encodeURIComponent(workload)}/${kind === 'client' ? 'traffic' : 'network'}`;
  return /^(all others|unknown)$/.test(other) ? page : `${page}?q=${encodeURIComponent(other)}`;
}

const clientId = (name: string): string => `client ${name}`;
const serverId = (name: string): string => `server ${name}`;
const hostId = (name: string): string => `host ${name}`;

function draw(
  list: readonly Workload[],
  connections: readonly Connection[],
  allGroups: readonly Group[],
): { columns: TopologyNode[][]; links: TopologyLink[] } {
  const weights = new Map(
    list.map(({ name, status }) => [
      name,
      status === 'error' || status === 'unhealthy' ? 1e9 : status === 'stopped' ? -1 : 0,
    ]),
  );
  for (const { workload, calls, denied } of connections)
    weights.set(workload, (weights.get(workload) ?? 0) + calls + 1_000 * denied);
  const servers = list
    .toSorted((a, b) => (weights.get(b.name) ?? 0) - (weights.get(a.name) ?? 0))
    .slice(0, list.length > maxNodes ? maxNodes - 1 : maxNodes);
  const shown = connections.filter(({ workload }) => servers.some(({ name }) => name === workload));
  const calling = namesOf(shown, 'client');
  const idle = registrations(servers, allGroups).filter(
    ({ client }) => !calling.some((name) => name.toLowerCase().startsWith(client)),
  );
  const clients = [...new Set([...calling, ...idle.map(({ client }) => client)])].slice(0, maxNodes);
  const hosts = namesOf(shown, 'host').slice(0, maxNodes);
  return {
    columns: [
      clients.map((name) => ({
        id: clientId(name),
        label: plainForeign(name),
        look: calling.includes(name) ? 'good' : 'off',
      })),
      [
        ...servers.map(({ name, status }) => ({
          id: serverId(name),
          label: name,
          note: status,
          look: looks[status],
          href: `/w/${encodeURIComponent(name)}`,
        })),
        ...(list.length > servers.length
          ? [{ id: 'rest', label: `${(list.length - servers.length).toLocaleString('en')} more` }]
          : []),
      ],
      hosts.map((name) => ({
        id: hostId(name),
        label: plainForeign(name),
        look: shown.some(({ kind, other, denied }) => kind === 'host' && other === name && denied > 0)
          ? 'bad'
          : 'good',
      })),
    ],
    links: [...idle.map(idleLink), ...shown.map(drawnLink)],
  };
}

const looks = {
  running: 'good',
  starting: 'busy',
  stopping: 'busy',
  removing: 'busy',
  unhealthy: 'bad',
  error: 'bad',
  stopped: 'off',
  unknown: 'off',
} as const;

/** The names with the most calls first, and names with denials before them. */
function namesOf(connections: readonly Connection[], kind: Connection['kind']): string[] {
  const amounts = new Map<string, number>();
  for (const { kind: each, other, calls, denied } of connections)
    if (each === kind) amounts.set(other, (amounts.get(other) ?? 0) + calls + 1_000 * denied);
  return [...amounts].toSorted(([, a], [, b]) => b - a).map(([name]) => name);
}

/** The clients that are registered for the groups of these servers. */
function registrations(
  servers: readonly Workload[],
  allGroups: readonly Group[],
): { client: string; server: string }[] {
  return servers.flatMap(({ name, group }) =>
    (allGroups.find((each) => each.name === group)?.registered_clients ?? []).map((client) => ({
      client,
      server: name,
    })),
  );
}

function idleLink({ client, server }: { client: string; server: string }): TopologyLink {
  return {
    from: clientId(client),
    to: serverId(server),
    amount: 0,
    isDenied: false,
    href: `/w/${encodeURIComponent(server)}/traffic`,
    label: `${client} can call ${server}. No calls in the last hour`,
  };
}

function drawnLink(connection: Connection): TopologyLink {
  const { kind, workload, other, calls, errors, denied } = connection;
  const name = plainForeign(other);
  const [from, to] =
    kind === 'client' ? [clientId(other), serverId(workload)] : [serverId(workload), hostId(other)];
  const says =
    kind === 'client'
      ? `${name} to ${workload}: ${count(calls, 'call')}, ${count(errors, 'error')}`
      : `${workload} to ${name}: ${count(calls, 'connection')}`;
  return {
    from,
    to,
    amount: Math.max(calls, denied),
    isDenied: denied > 0,
    href: hrefOf(connection),
    label: denied > 0 ? `${says}, ${denied.toLocaleString('en')} denied` : says,
  };
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, next) => total + next, 0);
