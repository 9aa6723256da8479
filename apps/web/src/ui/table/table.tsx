import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { CSSProperties, KeyboardEvent, MouseEvent, ReactNode } from 'react';
import { flushSync } from 'react-dom';
import { Icon } from '../drawing/icon.tsx';
import { useMedia } from '../media.ts';
import { cardLines, fitting, isWide, sorted } from './columns.ts';
import type { Column, Sort } from './columns.ts';
import { useKeptFocus } from './kept-focus.ts';
import { RowDetails } from './row-details.tsx';
import { useVisibleRows } from './window.ts';

interface Props<Row> {
  /** Names the rows. */
  label: string;
  /** The first one names the row. A column of actions is the last one. */
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The height of a row in pixels. */
  rowHeight?: number;
  /** The row that the page shows in detail. */
  current?: string | undefined;
  /** The effect of a click on the row. By default, a dialog with everything in the row opens. */
  onOpen?: (row: Row) => void;
  selection?: { chosen: ReadonlySet<string>; onChange: (chosen: ReadonlySet<string>) => void };
  /** Keeps lines on a phone, for a list of names beside something else. */
  hasOnlyLines?: boolean;
  /** The order at first. */
  firstSort?: Sort;
  /** The order, for pages that keep it. */
  sort?: Sort | undefined;
  onSort?: (sort: Sort) => void;
}

/** Narrower screens show a card for each row. */
const cardsBelow = '(width < 40rem)';
const lineHeight = 24;

/**
 * A table with one line for each row. It renders only visible rows, columns leave a narrow table by their rank, and each row
 * is a card on a phone. Everything in a row can be read in full where the row opens.
 *
 * Keys: arrows, Home, End, Page Up, and Page Down go to a row, Space selects it, and Enter opens it. Only the controls of
 * the row with the focus are tab stops.
 */
export function Table<Row>(props: Props<Row>): ReactNode {
  const { label, columns, rows, keyOf, rowHeight = 32, current, selection } = props;
  const table = useRef<HTMLTableElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const width = useWidth(table);
  const isNarrow = useMedia(cardsBelow);
  const areCards = isNarrow && props.hasOnlyLines !== true;
  const shown = useMemo(
    () => (areCards ? columns : fitting(columns, width / 16 - (selection === undefined ? 0 : 2))),
    [columns, width, areCards, selection === undefined],
  );
  const [ownSort, setOwnSort] = useState(props.firstSort);
  const sort = props.sort ?? ownSort;
  const setSort = props.onSort ?? setOwnSort;
  const inOrder = useMemo(() => sorted(rows, columns, sort), [rows, columns, sort?.id, sort?.isDescending]);
  const hasActions = columns.some(({ kind }) => kind === 'actions');
  const height = areCards ? 68 + cardLines(columns) * lineHeight + (hasActions ? 40 : 0) : rowHeight;
  const { first, end } = useVisibleRows(body, inOrder.length, height);
  const [active, setActive] = useState<string | undefined>();
  const [opened, setOpened] = useState<string | undefined>();
  const openedRow = opened === undefined ? undefined : rows.find((row) => keyOf(row) === opened);
  const activeIndex = Math.max(
    0,
    active === undefined ? 0 : inOrder.findIndex((row) => keyOf(row) === active),
  );
  useTabStops(body);

  const open = props.onOpen ?? ((row: Row) => setOpened(keyOf(row)));
  const go = (index: number): void => {
    const row = inOrder[Math.max(0, Math.min(inOrder.length - 1, index))];
    if (row === undefined) return;
    flushSync(() => setActive(keyOf(row)));
    const element = body.current?.querySelector<HTMLElement>('[data-active="true"]');
    element?.scrollIntoView({ block: 'nearest' });
    element?.focus({ preventScroll: true });
  };
  const focus = useKeptFocus(inOrder.map(keyOf), go);
  const toggle = (key: string): void => {
    if (selection === undefined) return;
    const next = new Set(selection.chosen);
    if (!next.delete(key)) next.add(key);
    selection.onChange(next);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>, row: Row): void => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return; // also keys of an open menu
    const isRow = event.target === event.currentTarget;
    if (!isRow && (event.target as HTMLElement).matches('select, textarea, input:not([type=checkbox])'))
      return;
    const page = Math.max(1, Math.floor(window.innerHeight / height) - 2);
    const target = {
      ArrowDown: activeIndex + 1,
      ArrowUp: activeIndex - 1,
      PageDown: activeIndex + page,
      PageUp: activeIndex - page,
      Home: 0,
      End: inOrder.length - 1,
    }[event.key];
    if (target !== undefined) {
      event.preventDefault();
      go(target);
    } else if (isRow && event.key === ' ') {
      event.preventDefault();
      toggle(keyOf(row));
    } else if (isRow && event.key === 'Enter') {
      event.preventDefault();
      open(row);
    }
  };

  const template = [
    ...(selection === undefined ? [] : ['1.25rem']),
    ...shown.map(({ width: least, grow }) =>
      grow === undefined ? `${least}rem` : `minmax(${least}rem, ${grow}fr)`,
    ),
  ].join(' ');
  const style = {
    '--columns': template,
    '--row': `${height}px`,
    '--rows': `${inOrder.length * height}px`,
  } as CSSProperties; // custom properties
  const indexes = Array.from({ length: end - first }, (_, index) => first + index);
  if (active !== undefined && (activeIndex < first || activeIndex >= end)) indexes.push(activeIndex); // keeps the focus
  return (
    <>
      {areCards && inOrder.length > 1 && (
        <SortChoice label={label} columns={columns} sort={sort} onSort={setSort} />
      )}
      <table
        ref={table}
        className={areCards ? 'list as-cards' : 'list'}
        role="grid"
        aria-label={label}
        aria-rowcount={inOrder.length + 1}
        aria-multiselectable={selection === undefined ? undefined : true}
        style={style}
      >
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {selection !== undefined && (
              <th role="columnheader">
                <SelectAll keys={inOrder.map(keyOf)} label={label} {...selection} />
              </th>
            )}
            {shown.map((column) => (
              <Head
                key={column.id}
                column={column}
                sort={sort?.id === column.id ? sort : undefined}
                onSort={setSort}
              />
            ))}
          </tr>
        </thead>
        <tbody ref={body} role="rowgroup" onPointerOver={showFullText} onBlur={focus.onBlur}>
          {indexes.map((index) => {
            const row = inOrder[index];
            if (row === undefined) return null;
            const key = keyOf(row);
            return (
              <tr
                key={key}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={selection === undefined ? undefined : selection.chosen.has(key)}
                aria-current={current === key ? 'true' : undefined}
                data-active={index === activeIndex}
                tabIndex={index === activeIndex ? 0 : -1}
                style={{ top: index * height }}
                onFocus={() => {
                  setActive(key);
                  focus.onFocus({ key, index });
                }}
                onKeyDown={(event) => onKeyDown(event, row)}
                onClick={(event) => {
                  if (isOwnClick(event)) open(row);
                }}
              >
                {selection !== undefined && (
                  <td role="gridcell" className="choice">
                    <input
                      type="checkbox"
                      checked={selection.chosen.has(key)}
                      aria-label={`Select ${key}`}
                      onChange={() => toggle(key)}
                    />
                  </td>
                )}
                {shown.map((column, position) => (
                  <Cell key={column.id} column={column} row={row} isFirst={position === 0} />
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {openedRow !== undefined && (
        <RowDetails columns={columns} row={openedRow} onClose={() => setOpened(undefined)} />
      )}
    </>
  );
}

function Head<Row>({
  column: { id, head, kind, order },
  sort,
  onSort,
}: {
  column: Column<Row>;
  /** The order, if it is that of this column. */
  sort: Sort | undefined;
  onSort: (sort: Sort) => void;
}): ReactNode {
  if (kind === 'actions') {
    return (
      <th role="columnheader" className="actions">
        <span className="visually-hidden">{head}</span>
      </th>
    );
  }
  // Numbers start with the greatest.
  const isDescending = sort === undefined ? kind === 'number' : !sort.isDescending;
  return (
    <th
      role="columnheader"
      className={kind}
      aria-sort={sort === undefined ? undefined : sort.isDescending ? 'descending' : 'ascending'}
    >
      {order === undefined ? (
        head
      ) : (
        <button type="button" className="sort" onClick={() => onSort({ id, isDescending })}>
          <span>{head}</span>
          {sort !== undefined && (
            <span className={sort.isDescending ? 'turned' : undefined}>
              <Icon name="ascending" />
            </span>
          )}
        </button>
      )}
    </th>
  );
}

function Cell<Row>({ column, row, isFirst }: { column: Column<Row>; row: Row; isFirst: boolean }): ReactNode {
  const { kind = 'text', head, cell } = column;
  if (isFirst) {
    return (
      <th role="rowheader" scope="row" className="cell">
        {cell(row)}
      </th>
    );
  }
  return (
    <td role="gridcell" className={`cell ${kind}${isWide(column) ? ' wide' : ''}`} data-head={head}>
      {cell(row)}
    </td>
  );
}

function SelectAll({
  keys,
  label,
  chosen,
  onChange,
}: {
  keys: readonly string[];
  label: string;
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const amount = keys.filter((key) => chosen.has(key)).length;
  const isAll = amount > 0 && amount === keys.length;
  useEffect(() => {
    if (input.current !== null) input.current.indeterminate = amount > 0 && !isAll;
  }, [amount, isAll]);
  return (
    <label className="select-all">
      <input
        ref={input}
        type="checkbox"
        checked={isAll}
        aria-label={`Select all: ${label}`}
        onChange={() => onChange(new Set(isAll ? [] : keys))}
      />
      <span>Select all</span>
    </label>
  );
}

/** Cards have no heads, so the order has a list of its own. */
function SortChoice<Row>({
  label,
  columns,
  sort,
  onSort,
}: {
  label: string;
  columns: readonly Column<Row>[];
  sort: Sort | undefined;
  onSort: (sort: Sort) => void;
}): ReactNode {
  const choices = columns.filter(({ order }) => order !== undefined);
  if (choices.length === 0) return null;
  return (
    <select
      className="sort-choice"
      aria-label={`Order of the list: ${label}`}
      value={sort?.id ?? ''}
      onChange={({ target }) => {
        const column = choices.find(({ id }) => id === target.value);
        if (column !== undefined) onSort({ id: column.id, isDescending: column.kind === 'number' });
      }}
    >
      {sort === undefined && <option value="">Sort by</option>}
      {choices.map(({ id, head }) => (
        <option key={id} value={id}>{`Sort by ${head.toLowerCase()}`}</option>
      ))}
    </select>
  );
}

/** Whether a click is one on the row: not on a control, and not the end of a selection of text. */
function isOwnClick({ target, currentTarget }: MouseEvent): boolean {
  const control = (target as Element).closest('a, button, input, select, label, [popover]');
  return (control === null || !currentTarget.contains(control)) && getSelection()?.isCollapsed !== false;
}

/** A text that is cut off appears in full beside the pointer. */
function showFullText({ target }: { target: EventTarget }): void {
  const cell = (target as Element).closest<HTMLElement>('.cell');
  if (cell === null) return;
  const isCut = [cell, ...cell.querySelectorAll('*')].some(
    ({ scrollWidth, clientWidth }) => clientWidth > 0 && scrollWidth > clientWidth,
  );
  if (isCut) cell.title = cell.textContent ?? '';
  else cell.removeAttribute('title');
}

/** Removes the controls of all rows but one from the tab order, so that a long list is one stop. */
function useTabStops(body: React.RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    for (const control of body.current?.querySelectorAll<HTMLElement>('a, button, input, select') ?? [])
      control.tabIndex = control.closest('tr')?.dataset['active'] === 'true' ? 0 : -1;
  });
}

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(() => window.innerWidth);
  useLayoutEffect(() => {
    if (element.current === null) return;
    setWidth(element.current.clientWidth);
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
