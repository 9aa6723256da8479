import { useDeferredValue, useMemo, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import type { Workload } from '@toolhive/contract/workload';
import { Link, useLocation } from 'wouter';
import { groups, registryServers, runtimes, workloads } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import {
  removeWorkloads,
  removedWorkloads,
  restartWorkloads,
  startWorkloads,
  stopWorkloads,
  subscribeToRemovals,
} from '../../ui/actions.ts';
import { Fixes } from '../../ui/fixes.tsx';
import { count } from '../../ui/format.ts';
import { Action } from '../../ui/action.tsx';
import { useMedia } from '../../ui/media.ts';
import { Page } from '../../ui/page.tsx';
import { useQuery, useSortQuery } from '../../ui/query.ts';
import { Empty, NotLoaded, Shown } from '../../ui/states.tsx';
import { focusRow } from '../../ui/table/kept-focus.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { homeColumns, isMatch, summary } from './columns.tsx';
import type { HomeRow } from './columns.tsx';
import { useFigures } from './figures.ts';
import { Installations } from './installations.tsx';
import { Panel } from './panel.tsx';
import { Picture } from './picture.tsx';
import { UpdateAction } from './update-action.tsx';

/** All workloads: a picture of their connections, a list, and the selected one. */
export function Home(): ReactNode {
  const loaded = useResource(workloads);
  return (
    <Page
      title="Servers"
      action={
        <Link className="button primary" href="/add">
          Add a server
        </Link>
      }
    >
      <Installations known={loaded.data ?? []} />
      <Shown loaded={loaded} name={workloads.key} what="the servers">
        {(list) => (list.length === 0 ? <NoWorkloads /> : <Workloads list={list} />)}
      </Shown>
    </Page>
  );
}

/** From this width on, the selected workload is shown beside the list. */
const panelFrom = '(width >= 80rem)';

function Workloads({ list }: { list: readonly Workload[] }): ReactNode {
  const removed = useSyncExternalStore(subscribeToRemovals, removedWorkloads);
  const [, navigate] = useLocation();
  const [filter, setFilter] = useQuery('q');
  const [selected, setSelected] = useQuery('w');
  const [sort, setSort] = useSortQuery({ id: 'name', isDescending: false });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const hasPanel = useMedia(panelFrom);
  const query = useDeferredValue(filter);
  const figures = useFigures();
  const { data: allGroups } = useResource(groups);
  const present = useMemo(() => list.filter(({ name }) => !removed.has(name)), [list, removed]);
  const rows = useMemo<readonly HomeRow[]>(
    () =>
      present
        .filter((workload) => isMatch(workload, query))
        .map((workload) => ({
          workload,
          figures: figures?.get(workload.name),
          group: allGroups?.find(({ name }) => name === workload.group),
        })),
    [present, query, figures, allGroups],
  );
  const names = rows.map(({ workload: { name } }) => name).filter((name) => chosen.has(name));
  const panel = hasPanel ? present.find(({ name }) => name === selected) : undefined;
  const open = ({ workload: { name } }: HomeRow): void => {
    if (hasPanel) setSelected(name === selected ? '' : name);
    else navigate(`/w/${encodeURIComponent(name)}`);
  };
  return (
    <>
      <Picture list={present} />
      <div className="toolbar">
        <input
          type="search"
          value={filter}
          placeholder="Filter by name, group, status, or label"
          aria-label="Filter servers"
          onChange={({ target }) => setFilter(target.value)}
        />
        <span className="quiet" role="status">
          {summary(rows.map(({ workload }) => workload))}
        </span>
      </div>
      {names.length > 0 && <SelectionActions names={names} onClear={() => setChosen(new Set())} />}
      {rows.length === 0 && (
        <p className="quiet">{query === '' ? 'No servers are left.' : 'No server matches the filter.'}</p>
      )}
      <div className={panel === undefined ? undefined : 'beside'}>
        {rows.length > 0 && (
          <div>
            <Table
              label="Servers"
              columns={homeColumns}
              rows={rows}
              keyOf={nameOf}
              rowHeight={44}
              current={panel?.name}
              onOpen={open}
              selection={{ chosen, onChange: setChosen }}
              sort={sort}
              onSort={setSort}
            />
          </div>
        )}
        {panel !== undefined && (
          <Panel workload={panel} figures={figures?.get(panel.name)} onClose={() => setSelected('')} />
        )}
      </div>
    </>
  );
}

const nameOf = ({ workload: { name } }: HomeRow): string => name;

function SelectionActions({ names, onClear }: { names: readonly string[]; onClear: () => void }): ReactNode {
  return (
    <div className="toolbar selection" role="group" aria-label="Actions for the selected servers">
      <span>{count(names.length, 'server')} selected</span>
      <Action onClick={() => startWorkloads(names)}>Start</Action>
      <Action onClick={() => stopWorkloads(names)}>Stop</Action>
      <Action onClick={() => restartWorkloads(names)}>Restart</Action>
      <UpdateAction names={names} />
      <Action
        className="dangerous"
        onClick={() => {
          focusRow();
          removeWorkloads(names);
          onClear();
        }}
      >
        Remove
      </Action>
      <button
        type="button"
        onClick={() => {
          focusRow();
          onClear();
        }}
      >
        Clear selection
      </button>
    </div>
  );
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
              <Fixes hint={hint} />
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
      {servers.error !== undefined && <NotLoaded failure={servers.error} title="Cannot load the registry" />}
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
