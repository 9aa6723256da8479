import { useState } from 'react';
import type { ReactNode } from 'react';
import type { AuditOutcome } from '@toolhive/contract/audit';
import { audit } from '../../api/resources.ts';
import { useResource } from '../../api/store.ts';
import { count, dateTime } from '../../ui/format.ts';
import { Page } from '../../ui/page.tsx';
import { Shown } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { Table } from '../../ui/table.tsx';
import { download } from '../../ui/download.ts';

/** The audit log: calls of clients, changes by API and CLI, denied connections, and use of secrets. */
export function Activity(): ReactNode {
  const [workload, setWorkload] = useState('');
  const [outcome, setOutcome] = useState('');
  const resource = audit({
    limit: 500,
    ...(workload === '' ? {} : { workload }),
    ...(outcome === '' ? {} : { outcome: outcome as AuditOutcome }), // one of the options below
  });
  const loaded = useResource(resource);
  return (
    <Page title="Activity" help="/toolhive/guides-cli/telemetry-and-metrics">
      <div className="toolbar">
        <input
          type="search"
          value={workload}
          aria-label="Filter by workload"
          placeholder="Workload"
          onChange={({ target }) => setWorkload(target.value.trim())}
        />
        <select value={outcome} aria-label="Outcome" onChange={({ target }) => setOutcome(target.value)}>
          <option value="">Every outcome</option>
          {['success', 'failure', 'denied', 'error'].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
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
              No record matches. Changes and secret access are recorded always, calls only for workloads with
              audit enabled.
            </p>
          ) : (
            <>
              <p className="quiet">{count(records.length, 'record')}, the latest first</p>
              <Table label="Records" columns={['Time', 'Event', 'Workload', 'Target', 'By', 'Outcome']}>
                {records.map(({ id, record }) => (
                  <tr key={id}>
                    <td>{dateTime(record.logged_at)}</td>
                    <td>{record.type}</td>
                    <td>
                      <ForeignText>{record.workload ?? ''}</ForeignText>
                    </td>
                    <td>
                      <ForeignText>
                        {[record.target?.['method'], record.target?.['name'] ?? record.target?.['endpoint']]
                          .filter(Boolean)
                          .join(' ')}
                      </ForeignText>
                    </td>
                    <td>
                      <ForeignText>
                        {record.subjects['user'] ?? record.subjects['client_name'] ?? record.source.value}
                      </ForeignText>
                    </td>
                    <td className={record.outcome === 'success' ? 'good' : 'problem'}>{record.outcome}</td>
                  </tr>
                ))}
              </Table>
            </>
          )
        }
      </Shown>
    </Page>
  );
}
