import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import type { TrafficEntry } from '@toolhive/contract/traffic';
import type { Workload } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { traffic, usage, workload, workloadDiagnosis, workloads } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Icon } from '../../ui/drawing/icon.tsx';
import { Findings } from '../../ui/findings.tsx';
import { ago, count, duration } from '../../ui/format.ts';
import { NotLoaded, Shown } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText, plainForeign } from '../../ui/text.tsx';
import { AskedAccess } from './asked-access.tsx';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';
import { Sessions } from './sessions.tsx';
import { StartTimeline } from './start-timeline.tsx';
import { UsageFacts } from './usage-facts.tsx';

/** The problems of a workload, its start, its latest calls, and its use of memory and processor. */
export function Now(): ReactNode {
  const name = useWorkloadName();
  const resource = workload(name);
  const loaded = useResource(resource);
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={loaded} name={resource.key} what="the server">
        {(details) => (
          <div className="columns">
            <div>
              <p className="figures">
                {details.proxy_url === '' ? (
                  <span className="quiet">Clients cannot connect while the server does not run.</span>
                ) : (
                  <>
                    <code>{details.proxy_url}</code>{' '}
                    <CopyButton text={details.proxy_url} label="Copy URL" what={`of ${details.name}`} />
                  </>
                )}
              </p>
              <Problems name={name} />
              <StartTimeline name={name} />
              <RecentCalls name={name} />
              <Sessions name={name} />
            </div>
            <aside>
              <UsageFacts name={name} />
            </aside>
          </div>
        )}
      </Shown>
    </WorkloadFrame>
  );
}

/** The name of a variable in the complaint of a server, such as WEATHER_API_KEY. */
const variableName = /\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40})+\b/;

/** As many letters tell that a finding repeats the reason. */
const reasonLength = 40;

/** Everything that does not work, each with the button that repairs it, and one line about the rest. */
function Problems({ name }: { name: string }): ReactNode {
  const resource = workloadDiagnosis(name);
  const { data, error, isLoading } = useResource(resource);
  const { data: list = [] } = useResource(workloads);
  const [missing, setMissing] = useState<string | undefined>();
  const proposed = missingVariable(list.find((each) => each.name === name));
  const isBad = (state: string): boolean => state === 'failed' || state === 'warning';
  const findings = data?.findings ?? [];
  const context = list.find((each) => each.name === name)?.status_context;
  // The reason is above already.
  const bad = findings
    .filter(({ state }) => isBad(state))
    .map((finding) =>
      context !== undefined && finding.says.includes(context.slice(0, reasonLength))
        ? { ...finding, says: finding.says.replace(/:.*/s, '') }
        : finding,
    );
  return (
    <section aria-label="Problems">
      {error !== undefined && <NotLoaded failure={error} title="Cannot diagnose the server" />}
      {proposed !== undefined && (
        <div className="notice warning">
          <p>
            The server seems to need <ForeignText>{proposed}</ForeignText>.
          </p>
          <Action className="primary" onClick={() => setMissing(proposed)}>
            Enter the value
          </Action>
        </div>
      )}
      {bad.length > 0 && <Findings findings={bad} />}
      <p className="figures">
        {data !== undefined && <Dots findings={findings} />}
        <Action className="link" disabled={isLoading} onClick={() => refresh(resource.key)}>
          {isLoading ? 'Checking' : 'Check again'}
        </Action>
      </p>
      {findings.length > bad.length && (
        <details>
          <summary>All {count(findings.length, 'check')}</summary>
          <Findings findings={findings.filter(({ state }) => !isBad(state))} />
        </details>
      )}
      {missing !== undefined && (
        <AskedAccess
          name={name}
          ask={{ kind: 'secrets', variable: missing }}
          onClose={() => setMissing(undefined)}
        />
      )}
    </section>
  );
}

/** The user decides whether the name that the server has written is the right one. */
function missingVariable(workload: Workload | undefined): string | undefined {
  if (workload?.status !== 'error' || workload.remote) return undefined;
  return variableName.exec(workload.status_context ?? '')?.[0];
}

const shapes = { failed: 'bad', warning: 'warning', ok: 'good', skipped: 'stop' } as const;

function Dots({
  findings,
}: {
  findings: readonly { layer: string; state: keyof typeof shapes }[];
}): ReactNode {
  const bad = findings.filter(({ state }) => state === 'failed' || state === 'warning').length;
  const label =
    bad === 0 ? 'No problem was found.' : `${count(bad, 'check')} ${bad === 1 ? 'needs' : 'need'} attention.`;
  return (
    <>
      <span className="dots" aria-hidden="true">
        {findings.map(({ layer, state }, index) => (
          <span key={`${layer} ${index}`} className={`check-dot ${state}`} title={layer}>
            <Icon name={shapes[state]} />
          </span>
        ))}
      </span>
      <span>{label}</span>
    </>
  );
}

/** The most calls in the summary. */
const maxRecent = 8;
const hourMs = 3_600_000;

/** The latest calls of clients, and how many there were in the last hour. */
function RecentCalls({ name }: { name: string }): ReactNode {
  const resource = traffic(name);
  const { data } = useResource(resource);
  // The usage is read every two seconds anyway, and says whether there is anything to load.
  const counted = useResource(usage(name)).data?.calls;
  useEffect(() => {
    if (counted !== undefined) refresh(resource.key);
  }, [counted, resource.key]);
  if (data === undefined) return null;
  const calls = data.entries.filter(({ source }) => source !== 'ui').toReversed();
  const since = Date.now() - hourMs;
  const lastHour = calls.filter(({ at }) => Date.parse(at) >= since);
  const failed = lastHour.filter(({ outcome }) => outcome !== 'ok').length;
  const path = `/w/${encodeURIComponent(name)}/traffic`;
  return (
    <section aria-labelledby="recent-calls">
      <h2 id="recent-calls">Recent calls</h2>
      <p>
        {count(lastHour.length, 'call')} in the last hour{failed > 0 && `, ${failed} without success`}.{' '}
        <Link href={path}>All calls</Link>
      </p>
      {calls.length > 0 && (
        <Table
          label="Recent calls"
          columns={callColumns}
          rows={calls.slice(0, maxRecent)}
          keyOf={({ id }) => String(id)}
        />
      )}
    </section>
  );
}

const callColumns: readonly Column<TrafficEntry>[] = [
  {
    id: 'name',
    head: 'Call',
    width: 7,
    grow: 2,
    cell: ({ name, method }) => <ForeignText>{name ?? method}</ForeignText>,
  },
  {
    id: 'client',
    head: 'Client',
    width: 6,
    grow: 1,
    rank: 1,
    cell: ({ client }) => <ForeignText>{client?.name ?? ''}</ForeignText>,
  },
  {
    id: 'duration',
    head: 'Duration',
    kind: 'number',
    width: 5,
    rank: 2,
    cell: ({ duration_ms: ms }) => (ms === undefined ? '' : duration(ms)),
  },
  {
    id: 'outcome',
    head: 'Outcome',
    width: 5.5,
    cell: ({ outcome, reason }) => (
      <span
        className={outcome === 'ok' ? 'good' : 'problem'}
        title={reason === undefined ? undefined : plainForeign(reason)}
      >
        {outcome === 'cancelled' ? 'canceled' : outcome}
      </span>
    ),
  },
  { id: 'time', head: 'Time', kind: 'number', width: 7.5, cell: ({ at }) => ago(at) },
];
