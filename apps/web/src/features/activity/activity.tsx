import { useDeferredValue } from 'react';
import type { ReactNode } from 'react';
import type { AuditOutcome } from '@toolhive/contract/audit';
import { audit } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { count, dateTime } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { useAge } from '../../ui/age.tsx';
import { useQuery } from '../../ui/query.ts';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { download } from '../../ui/download.ts';
import { Icon } from '../../ui/drawing/icon.tsx';
import { actorOf, iconOf, joined, sentenceOf } from './wording.ts';
import type { Happening } from './wording.ts';

/** The audit log: calls of clients, changes by API and CLI, denied connections, and use of secrets. */
export function Activity(): ReactNode {
  const [workload, setWorkload] = useQuery('workload');
  const [outcome, setOutcome] = useQuery('outcome');
  const [search, setSearch] = useQuery('q');
  const { since, choice } = useAge(['hour', 'day', 'week'], 'Any time');
  const text = useDeferredValue(search.trim());
  const resource = audit({
    limit: maxRecords,
    ...(text === '' ? {} : { search: text }),
    ...(since === undefined ? {} : { since }),
    ...(workload === '' ? {} : { workload }),
    ...(outcome === '' ? {} : { outcome: outcome as AuditOutcome }), // one of the options below
  });
  const loaded = useResource(resource);
  return (
    <Page title="Activity" help="/toolhive/guides-cli/telemetry-and-metrics">
      <div className="toolbar">
        <input
          type="search"
          value={search}
          maxLength={256}
          aria-label="Search all records"
          placeholder="Search all records"
          onChange={({ target }) => setSearch(target.value)}
        />
        <input
          value={workload}
          aria-label="Filter by server"
          placeholder="Server"
          onChange={({ target }) => setWorkload(target.value.trim())}
        />
        <select value={outcome} aria-label="Outcome" onChange={({ target }) => setOutcome(target.value)}>
          <option value="">Every outcome</option>
          {['success', 'failure', 'denied', 'error'].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        {choice}
        <button
          type="button"
          disabled={loaded.data === undefined}
          onClick={() =>
            download(
              (loaded.data ?? []).map(({ record }) => `${JSON.stringify(record)}\n`).join(''),
              'audit.ndjson',
              'application/x-ndjson',
            )
          }
        >
          Export
        </button>
      </div>
      <Shown loaded={loaded} name={resource.key} what="the activity">
        {(records) =>
          records.length === 0 ? (
            <p>
              No record matches. Changes and secret access are recorded always, calls only for servers with
              audit enabled.
            </p>
          ) : (
            <>
              <p className="quiet">
                {records.length === maxRecords
                  ? `The latest ${maxRecords} records that match`
                  : `${count(records.length, 'record')}, the latest first`}
              </p>
              <Table
                label="Records"
                columns={columns}
                rows={joined(records)}
                keyOf={({ id }) => String(id)}
              />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

/** The most records that the page reads. The daemon searches all of them. */
const maxRecords = 500;

const columns: readonly Column<Happening>[] = [
  {
    id: 'time',
    head: 'Time',
    width: 15,
    order: ({ id }) => id,
    cell: ({ record }) => dateTime(record.logged_at),
  },
  {
    id: 'what',
    head: 'What',
    width: 12,
    grow: 3,
    order: ({ record }) => sentenceOf(record),
    cell: ({ record, times }) => (
      <>
        <Icon name={iconOf(record)} /> <ForeignText>{sentenceOf(record)}</ForeignText>
        {times > 1 && <span className="quiet"> ({times}×)</span>}
      </>
    ),
  },
  {
    id: 'workload',
    head: 'Server',
    width: 6,
    grow: 1,
    rank: 1,
    order: ({ record }) => record.workload,
    cell: ({ record: { workload } }) => workload !== undefined && <ForeignText>{workload}</ForeignText>,
  },
  {
    id: 'by',
    head: 'By',
    width: 7,
    grow: 1,
    rank: 2,
    order: ({ record }) => actorOf(record),
    cell: ({ record }) => <ForeignText>{actorOf(record)}</ForeignText>,
  },
  {
    id: 'outcome',
    head: 'Outcome',
    width: 5.5,
    order: ({ record }) => record.outcome,
    cell: ({ record }) => (
      <span className={record.outcome === 'success' ? 'good' : 'problem'}>{record.outcome}</span>
    ),
  },
];
