import type { ReactNode } from 'react';
import { Action } from '../../ui/action.tsx';
import { dateTime, duration } from '../../ui/format.ts';
import { Table } from '../../ui/table/table.tsx';
import { ForeignText } from '../../ui/text.tsx';
import type { RecordedCall } from './history.ts';

/** The calls of an item in this tab, to repeat or to change them. */
export function CallHistory({
  calls,
  isBusy,
  onReplay,
  onLoad,
}: {
  calls: readonly RecordedCall[];
  /** A call is running. */
  isBusy: boolean;
  onReplay: (args: unknown) => void;
  onLoad: (args: unknown) => void;
}): ReactNode {
  return (
    <details>
      <summary>Calls in this tab ({calls.length})</summary>
      <Table
        label="Calls in this tab"
        columns={[
          { id: 'time', head: 'Time', width: 15, order: ({ at }) => at, cell: ({ at }) => dateTime(at) },
          {
            id: 'arguments',
            head: 'Arguments',
            width: 4,
            grow: 1,
            rank: 1,
            cell: ({ args }) => (
              <code>
                <ForeignText>{JSON.stringify(args).slice(0, 200)}</ForeignText>
              </code>
            ),
          },
          {
            id: 'result',
            head: 'Result',
            width: 4,
            cell: ({ isOk }) => <span className={isOk ? 'good' : 'problem'}>{isOk ? 'ok' : 'error'}</span>,
          },
          {
            id: 'duration',
            head: 'Duration',
            kind: 'number',
            width: 5,
            rank: 2,
            order: ({ ms }) => ms,
            cell: ({ ms }) => duration(ms),
          },
          {
            id: 'actions',
            head: 'Actions',
            kind: 'actions',
            width: 9,
            cell: ({ args, at }) => (
              <>
                <Action
                  disabled={isBusy}
                  aria-label={`Replay the call of ${dateTime(at)}`}
                  onClick={() => onReplay(args)}
                >
                  Replay
                </Action>
                <button
                  type="button"
                  aria-label={`Edit the call of ${dateTime(at)}`}
                  onClick={() => onLoad(args)}
                >
                  Edit
                </button>
              </>
            ),
          },
        ]}
        rows={calls}
        keyOf={({ id }) => String(id)}
      />
    </details>
  );
}
