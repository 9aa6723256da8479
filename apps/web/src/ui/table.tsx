import type { ReactNode } from 'react';

/** The heading of a column: its text, alone or with a mark for numbers or for a column that only contains buttons. */
export type Column = string | { number: string } | { actions: string };

/** A table that scrolls sideways where the screen is too narrow. */
export function Table({
  label,
  columns,
  children,
}: {
  label: string;
  columns: readonly Column[];
  /** The rows. */
  children: ReactNode;
}): ReactNode {
  return (
    <div className="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === 'string' ? (
                <th key={column} scope="col">
                  {column}
                </th>
              ) : 'number' in column ? (
                <th key={column.number} scope="col" className="number">
                  {column.number}
                </th>
              ) : (
                <th key={column.actions} scope="col">
                  <span className="visually-hidden">{column.actions}</span>
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
