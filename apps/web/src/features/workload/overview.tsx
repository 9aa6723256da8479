import type { ReactNode } from 'react';
import type { ClientSession, ToolUsage } from '@toolhive/contract/traffic';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { client } from '../../api/client.ts';
import {
  clients,
  groups,
  networkDecisions,
  permissions,
  sessions,
  usage,
  workload,
  workloadDiagnosis,
} from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Findings } from '../../ui/findings.tsx';
import { ago, bytes, count, dateTime, duration } from '../../ui/format.ts';
import { PermissionList } from '../../ui/permissions.tsx';
import { Failure, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { Updates } from './updates.tsx';
import { Bar } from '../../ui/drawing/bar.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { download } from '../../ui/download.ts';

/** The state of a workload: address, permissions, resources, sessions, and findings. */
export function Overview(): ReactNode {
  const name = useWorkloadName();
  const resource = workload(name);
  const loaded = useResource(resource);
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={loaded} name={resource.key} what="the workload">
        {(details) => (
          <div className="columns">
            <div>
              <dl className="pairs">
                <Pair term="URL">
                  {details.proxy_url === '' ? (
                    <span className="quiet">none while it does not run</span>
                  ) : (
                    <>
                      <code>{details.proxy_url}</code> <CopyButton text={details.proxy_url} />
                    </>
                  )}
                </Pair>
                <Pair term={details.remote ? 'Remote server' : 'Source'}>
                  <ForeignText>{details.package}</ForeignText>
                </Pair>
                {details.provenance !== undefined && (
                  <Pair term="Provenance">
                    <Provenance provenance={details.provenance} />
                  </Pair>
                )}
                <Pair term="Runtime">
                  {details.remote ? 'none, the server is remote' : (details.runtime ?? 'not known yet')}
                </Pair>
                <Pair term="Transport">
                  {details.transport_type}
                  {details.protocol !== undefined &&
                    (details.protocol === 'modern'
                      ? ', protocol 2026-07-28'
                      : ', protocol 2025-11-25 or earlier')}
                </Pair>
                {details.session_processes !== undefined && (
                  <Pair term="Processes">{details.session_processes}</Pair>
                )}
                <Pair term="Group">
                  <Link href={`/groups/${encodeURIComponent(details.group)}`}>{details.group}</Link>
                </Pair>
                <Pair term="Clients">
                  <ClientNames group={details.group} />
                </Pair>
                <Pair term="Created">{dateTime(details.created_at)}</Pair>
                {details.home !== undefined && (
                  <Pair term="Stored files">
                    {bytes(details.home.size_bytes)} of {bytes(details.home.limit_bytes)} in{' '}
                    <code>{details.home.path}</code>
                  </Pair>
                )}
                {(details.secrets?.length ?? 0) > 0 && (
                  <Pair term="Secrets">
                    {details.secrets?.map((secret) => `${secret.name} as ${secret.target}`).join(', ')}
                  </Pair>
                )}
              </dl>
              <UsageFacts name={name} />
              <Sessions name={name} />
              <Exports name={name} />
              {!details.remote && <Updates key={name} name={name} />}
            </div>
            <aside>
              <h2>Permissions</h2>
              <Permitted name={name} />
              <h2>Diagnosis</h2>
              <WorkloadFindings name={name} />
            </aside>
          </div>
        )}
      </Shown>
    </WorkloadFrame>
  );
}

function Pair({ term, children }: { term: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Provenance({
  provenance: { status, repository, workflow, reason },
}: {
  provenance: NonNullable<WorkloadDetails['provenance']>;
}): ReactNode {
  switch (status) {
    case 'verified':
      return (
        <>
          <span className="good">verified</span>, built from{' '}
          <ForeignText>{repository ?? 'an unknown repository'}</ForeignText>
          {workflow !== undefined && (
            <>
              {' '}
              by <ForeignText>{workflow}</ForeignText>
            </>
          )}
        </>
      );
    case 'absent':
      return 'none, the package registry has no attestation';
    case 'failed':
    case 'unknown':
      return (
        <span className={status === 'failed' ? 'problem' : 'quiet'}>
          {status === 'failed' ? 'wrong' : 'not known'}: <ForeignText>{reason ?? ''}</ForeignText>
        </span>
      );
  }
}

function ClientNames({ group }: { group: string }): ReactNode {
  const { data: all = [] } = useResource(groups);
  const { data: statuses = [] } = useResource(clients);
  const names = all.find(({ name }) => name === group)?.registered_clients ?? [];
  if (names.length > 0) return names.join(', ');
  const isAny = statuses.some(({ installed }) => installed);
  return (
    <>
      <span className="quiet">none registered for this group.</span>{' '}
      <Link href="/clients">{isAny ? 'Connect a client' : 'See the clients'}</Link>
    </>
  );
}

function Permitted({ name }: { name: string }): ReactNode {
  const resource = permissions(name);
  const loaded = useResource(resource);
  return (
    <Shown loaded={loaded} name={resource.key} what="the permissions">
      {(data) => (
        <>
          <PermissionList permissions={data} />
          <Unused name={name} hosts={data.network.hosts ?? []} />
        </>
      )}
    </Shown>
  );
}

/** Compares the allowlist with the hosts that the server has reached. */
function Unused({ name, hosts }: { name: string; hosts: readonly string[] }): ReactNode {
  const { data } = useResource(networkDecisions(name));
  const reached = (data ?? []).filter(({ verdict }) => verdict === 'allowed').map(({ rule }) => rule);
  const unused = hosts.filter((host) => !reached.includes(host));
  if (data === undefined || unused.length === 0) return null;
  return (
    <p className="quiet">
      Allowed and not used so far: <ForeignText>{unused.join(', ')}</ForeignText>.{' '}
      <Link href={`/w/${encodeURIComponent(name)}/network`}>Review the network</Link>
    </p>
  );
}

function UsageFacts({ name }: { name: string }): ReactNode {
  const { data } = useResource(usage(name));
  if (data === undefined) return null;
  const {
    memory_bytes: memory,
    memory_limit_bytes: limit,
    cpu_percent: cpu,
    processes,
    calls,
    errors,
    tools,
  } = data;
  return (
    <>
      <h2>Usage</h2>
      <dl className="pairs">
        {memory !== undefined && (
          <Pair term="Memory">
            {bytes(memory)}
            {limit !== undefined && ` of ${bytes(limit)}`}
          </Pair>
        )}
        {cpu !== undefined && <Pair term="Processor">{cpu.toFixed(1)} % of one processor</Pair>}
        {processes !== undefined && <Pair term="Processes">{processes}</Pair>}
        <Pair term="Calls">
          {calls.toLocaleString('en')}, {count(errors, 'error')}, since {dateTime(data.since)}
        </Pair>
      </dl>
      {tools.length > 0 && (
        <Table
          label="Calls per tool"
          columns={toolColumns(name, Math.max(...tools.map((tool) => tool.calls)))}
          rows={tools}
          keyOf={(tool) => tool.name}
        />
      )}
    </>
  );
}

function toolColumns(name: string, most: number): readonly Column<ToolUsage>[] {
  return [
    {
      id: 'tool',
      head: 'Tool',
      width: 7,
      grow: 2,
      order: (tool) => tool.name,
      cell: (tool) => (
        <Link href={`/w/${encodeURIComponent(name)}/tools?tool=${encodeURIComponent(tool.name)}`}>
          <ForeignText>{tool.name}</ForeignText>
        </Link>
      ),
    },
    {
      id: 'bar',
      head: 'Share',
      width: 4,
      grow: 1,
      rank: 1,
      cell: ({ calls, errors }) => (
        <Bar
          amount={calls}
          problems={errors}
          most={most}
          label={`${count(calls, 'call')}, ${count(errors, 'error')}`}
        />
      ),
    },
    {
      id: 'calls',
      head: 'Calls',
      kind: 'number',
      width: 4,
      order: ({ calls }) => calls,
      cell: ({ calls }) => calls.toLocaleString('en'),
    },
    {
      id: 'errors',
      head: 'Errors',
      kind: 'number',
      width: 4,
      order: ({ errors }) => errors,
      cell: ({ errors }) => errors.toLocaleString('en'),
    },
    {
      id: 'median',
      head: 'Median',
      kind: 'number',
      width: 5,
      rank: 2,
      order: ({ p50_ms: median }) => median,
      cell: ({ p50_ms: median }) => duration(median),
    },
    {
      id: 'last',
      head: 'Last call',
      kind: 'number',
      width: 7.5,
      rank: 3,
      order: ({ last_at: at }) => Date.parse(at),
      cell: ({ last_at: at }) => ago(at),
    },
  ];
}

function Sessions({ name }: { name: string }): ReactNode {
  const resource = sessions(name);
  const { data = [] } = useResource(resource);
  if (data.length === 0) return null;
  return (
    <>
      <h2>Sessions</h2>
      <Table
        label="Sessions"
        columns={sessionColumns((id) =>
          attempt('Cannot end the session', async () => {
            await client.endSession({ params: { name, id } });
            refresh(resource.key);
          }),
        )}
        rows={data}
        keyOf={({ id }) => id}
      />
    </>
  );
}

function sessionColumns(end: (id: string) => Promise<boolean>): readonly Column<ClientSession>[] {
  return [
    {
      id: 'client',
      head: 'Client',
      width: 8,
      grow: 1,
      cell: ({ client: caller, source }) => (
        <>
          <ForeignText>
            {caller === undefined ? 'unknown' : `${caller.name} ${caller.version ?? ''}`}
          </ForeignText>{' '}
          {source === 'ui' && <span className="badge">web UI</span>}
        </>
      ),
    },
    {
      id: 'started',
      head: 'Started',
      kind: 'number',
      width: 7.5,
      rank: 2,
      order: ({ started_at: at }) => Date.parse(at),
      cell: ({ started_at: at }) => ago(at),
    },
    {
      id: 'last',
      head: 'Last message',
      kind: 'number',
      width: 7.5,
      rank: 1,
      order: ({ last_message_at: at }) => Date.parse(at),
      cell: ({ last_message_at: at }) => ago(at),
    },
    {
      id: 'open',
      head: 'Open',
      kind: 'number',
      width: 4,
      order: ({ in_flight: amount }) => amount,
      cell: ({ in_flight: amount }) => amount,
    },
    {
      id: 'actions',
      head: 'Actions',
      kind: 'actions',
      width: 4,
      cell: ({ id }) => (
        <Action aria-label={`End session ${id}`} onClick={() => void end(id)}>
          End
        </Action>
      ),
    },
  ];
}

function WorkloadFindings({ name }: { name: string }): ReactNode {
  const resource = workloadDiagnosis(name);
  const { data, error, isLoading } = useResource(resource);
  return (
    <>
      {error !== undefined && <Failure failure={error} title="Cannot diagnose the workload" />}
      {data !== undefined && <Findings findings={data.findings} />}
      <Action disabled={isLoading} onClick={() => refresh(resource.key)}>
        {isLoading ? 'Checking' : 'Check again'}
      </Action>
    </>
  );
}

/** Saves the workload as a file that `thv run --from-config` or Kubernetes takes. */
function Exports({ name }: { name: string }): ReactNode {
  return (
    <div className="buttons">
      <Action
        onClick={() =>
          void attempt('Cannot export', async () => {
            const config = await client.exportWorkload({ params: { name } });
            download(`${JSON.stringify(config, null, 2)}\n`, `${name}.json`);
          })
        }
      >
        Export run config
      </Action>
      <Action
        onClick={() =>
          void attempt('Cannot export', async () => {
            const { manifest } = await client.exportManifest({ params: { name } });
            download(
              typeof manifest === 'string' ? manifest : JSON.stringify(manifest, null, 2),
              `${name}.yaml`,
            );
          })
        }
      >
        Export Kubernetes manifest
      </Action>
    </div>
  );
}
