import { inNaturalOrder } from '@toolhive/contract/natural-order';
import type { ReactNode } from 'react';

/** A column of a table. All widths are in rem. */
export interface Column<Row> {
  /** Names the column in addresses. */
  id: string;
  head: string;
  cell: (row: Row) => ReactNode;
  /** The value that the column is sorted by. A column without it cannot be sorted. */
  order?: (row: Row) => string | number | undefined;
  kind?: 'text' | 'number' | 'actions';
  /** The least width. */
  width: number;
  /** The share of the remaining width. */
  grow?: number;
  /** If there is not enough width, the column with the highest rank leaves first. The others stay. */
  rank?: number;
}

export interface Sort {
  id: string;
  isDescending: boolean;
}

/** Sorts rows by a column. Rows without a value come last in both directions, and equal rows keep their order. */
export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: Sort | undefined,
): readonly Row[] {
  const order = columns.find(({ id }) => id === sort?.id)?.order;
  if (order === undefined || sort === undefined) return rows;
  const direction = sort.isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: order(row) }))
    .toSorted(({ value: a }, { value: b }) => {
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
      const difference =
        typeof a === 'number' && typeof b === 'number' ? a - b : inNaturalOrder(String(a), String(b));
      return direction * difference;
    })
    .map(({ row }) => row);
}

/** The space between columns and at the edges of a row. */
const gap = 0.75;

/** The columns that fit into a width. */
export function fitting<Row>(columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  let left = [...columns];
  const needed = (): number => left.reduce((sum, column) => sum + column.width + gap, gap);
  while (needed() > width) {
    const leaving = left.reduce<Column<Row> | undefined>(
      (most, column) => ((column.rank ?? 0) > (most?.rank ?? 0) ? column : most),
      undefined,
    );
    if (leaving === undefined) break;
    left = left.filter((column) => column !== leaving);
  }
  return left;
}

/** The lines of a card: a wide field has one of its own, and two others share one. */
export function cardLines<Row>(columns: readonly Column<Row>[]): number {
  const fields = columns.slice(1).filter(({ kind }) => kind !== 'actions');
  const wide = fields.filter(isWide).length;
  return wide + Math.ceil((fields.length - wide) / 2);
}

export function isWide<Row>({ grow = 0, width }: Column<Row>): boolean {
  return grow > 0 || width >= 9;
}
