import type { ReactNode } from 'react';
import { Dialog } from '../dialog.tsx';
import type { Column } from './columns.ts';

/** Everything in a row, in full. */
export function RowDetails<Row>({
  columns,
  row,
  onClose,
}: {
  columns: readonly Column<Row>[];
  row: Row;
  onClose: () => void;
}): ReactNode {
  return (
    <Dialog title="Details" onClose={onClose}>
      <dl className="pairs">
        {columns
          .filter(({ kind }) => kind !== 'actions')
          .map(({ id, head, cell }) => (
            <div key={id}>
              <dt>{head}</dt>
              <dd>{cell(row)}</dd>
            </div>
          ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
