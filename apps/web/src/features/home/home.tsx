import { useDeferredValue, useMemo, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { Link } from 'wouter';
import { registryServers, runtimes, workloads } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import {
  isActive,
  removeWorkloads,
  removedWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
  subscribeToRemovals,
} from '../../ui/actions.ts';
import { count } from '../../ui/format.ts';
import { Action } from '../../ui/action.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty, Failure, Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { Installations } from './installations.tsx';
import { WorkloadRow } from './workload-row.tsx';

/** All workloads by group. */
export function Home(): ReactNode {
  const loaded = useResource(workloads);
  return (
    <Page
      title="Workloads"
      action={
        <Link className="button primary" href="/add">
          Add a server
        </Link>
      }
    >
      <Installations known={loaded.data ?? []} />
      <Shown loaded={loaded} name={workloads.key} what="the workloads">
        {(list) => (list.length === 0 ? <NoWorkloads /> : <Workloads list={list} />)}
      </Shown>
    </Page>
  );
}

/** With more groups or workloads than this, rows outside the window are not rendered until they are scrolled to. */
function Workloads({ list }: { list: readonly Workload[] }): ReactNode {
  const removed = useSyncExternalStore(subscribeToRemovals, removedWorkloads);
  const [filter, setFilter] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = useDeferredValue(filter);
  const shown = useMemo(
    () => list.filter((workload) => !removed.has(workload.name) && isMatch(workload, query)),
    [list, query, removed],
  );
  const byGroup = useMemo(() => Map.groupBy(shown, ({ group }) => group), [shown]);
  const names = shown.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
  const toggle = useMemo(
    () => (name: string) =>
      setChosen((current) => {
        const next = new Set(current);
        if (!next.delete(name)) next.add(name);
        return next;
      }),
    [],
  );
  return (
    <>
      <div className="toolbar">
        <input
          type="search"
          value={filter}
          placeholder="Filter by name, group, status, or label"
          aria-label="Filter workloads"
          onChange={({ target }) => setFilter(target.value)}
        />
        <span className="quiet" role="status">
          {summary(shown)}
        </span>
      </div>
      {names.length > 0 && (
        <div className="toolbar selection" role="group" aria-label="Actions for the selected workloads">
          <span>{count(names.length, 'workload')} selected</span>
          <Action onClick={() => void startWorkloads(names)}>Start</Action>
          <Action onClick={() => void stopWorkloads(names)}>Stop</Action>
          <Action onClick={() => void restartWorkloads(names)}>Restart</Action>
          <Action
            className="dangerous"
            onClick={() => {
              removeWorkloads(names);
              setChosen(new Set());
            }}
          >
            Remove
          </Action>
          <button type="button" onClick={() => setChosen(new Set())}>
            Clear selection
          </button>
        </div>
      )}
      {shown.length === 0 && (
        <p className="quiet">{query === '' ? 'No workloads are left.' : 'No workload matches the filter.'}</p>
      )}
      {[...byGroup]
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([group, members]) => (
          <section key={group} aria-labelledby={`group-${group}`}>
            <h2 id={`group-${group}`}>
              <Link href={`/groups/${encodeURIComponent(group)}`}>{group}</Link>{' '}
              <span className="quiet">{members.length}</span>
            </h2>
            <ul className="rows">
              {members.map((workload) => (
                <WorkloadRow
                  key={workload.name}
                  workload={workload}
                  isChosen={chosen.has(workload.name)}
                  onToggle={toggle}
                />
              ))}
            </ul>
          </section>
        ))}
    </>
  );
}

function isMatch({ name, group, status, labels, package: source }: Workload, query: string): boolean {
  const texts = [name, group, status, source, ...Object.entries(labels ?? {}).map((pair) => pair.join('='))];
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => texts.some((text) => text.toLowerCase().includes(word)));
}

function summary(list: readonly Workload[]): string {
  const active = list.filter(isActive).length;
  const failed = list.filter(({ status }) => status === 'error' || status === 'unhealthy').length;
  return `${count(list.length, 'workload')}, ${active} running${failed === 0 ? '' : `, ${failed} with a problem`}`;
}

/** The registry entries that need neither an API key nor files, which a first run can try. */
const firstServers = ['everything', 'time', 'fetch', 'memory', 'sequentialthinking'];

function NoWorkloads(): ReactNode {
  const checks = useResource(runtimes);
  const servers = useResource(registryServers('default', {}));
  const suggested = (servers.data?.servers ?? [])
    .filter(
      ({ name = '', env_vars: variables = [] }) =>
        firstServers.includes(name) && !variables.some(({ required }) => required),
    )
    .slice(0, 3);
  return (
    <>
      {checks.data?.chosen === null &&
        checks.data.runtimes
          .filter(({ hint }) => hint !== undefined)
          .map(({ runtime, detail, hint }) => (
            <div key={runtime} className="notice warning">
              <strong>{runtime} is not available</strong>
              <p>{detail}</p>
              <p className="fix">Fix: {hint}</p>
            </div>
          ))}
      <Empty
        title="Run your first MCP server"
        action={
          <Link className="button primary" href="/welcome">
            Get started
          </Link>
        }
      >
        ToolHive runs MCP servers in isolation and connects your AI clients to them.
      </Empty>
      {servers.error !== undefined && <Failure failure={servers.error} title="Cannot load the registry" />}
      {suggested.length > 0 && (
        <>
          <h2>Servers that need no API key</h2>
          <ul className="cards">
            {suggested.map(({ name = '', description }) => (
              <li key={name} className="card">
                <h3>
                  <Link href={`/add/default/${encodeURIComponent(name)}`}>{name}</Link>
                </h3>
                <p>
                  <ForeignText>{description}</ForeignText>
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
