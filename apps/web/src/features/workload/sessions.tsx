import type { ReactNode } from 'react';
import type { ClientSession } from '@toolhive/contract/traffic';
import { client } from '../../api/client.ts';
import { sessions } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { Action } from '../../ui/action.tsx';
import { ago } from '../../ui/format.ts';
import type { Column } from '../../ui/table/columns.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import { attempt } from '../../ui/toasts.ts';

/** The sessions of clients, each with a way to end it. */
export function Sessions({ name }: { name: string }): ReactNode {
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
        <Action aria-label={`End session ${id}`} onClick={() => end(id)}>
          End
        </Action>
      ),
    },
  ];
}
