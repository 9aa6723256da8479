import '../../css/styles.css';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { afterEach, expect, test } from 'vitest';
import { page, userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import type { Column } from './columns.ts';
import { Middle } from './middle.tsx';
import { Table } from './table.tsx';

interface Server {
  name: string;
  calls: number | undefined;
}

const columns: readonly Column<Server>[] = [
  {
    id: 'name',
    head: 'Name',
    width: 10,
    grow: 1,
    order: ({ name }) => name,
    cell: ({ name }) => <a href={`#${name}`}>{name}</a>,
  },
  {
    id: 'calls',
    head: 'Calls',
    kind: 'number',
    width: 6,
    rank: 1,
    order: ({ calls }) => calls,
    cell: ({ calls }) => calls,
  },
  { id: 'note', head: 'Note', width: 20, rank: 2, cell: () => 'a note' },
  {
    id: 'actions',
    head: 'Actions',
    kind: 'actions',
    width: 6,
    cell: ({ name }) => <button type="button">{`Stop ${name}`}</button>,
  },
];

const servers = (amount: number): Server[] =>
  Array.from({ length: amount }, (_, index) => ({ name: `server-${index}`, calls: index })).toReversed();

function Servers({ rows }: { rows: readonly Server[] }): ReactNode {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return (
    <Table
      label="Servers"
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
      firstSort={{ id: 'name', isDescending: false }}
      selection={{ chosen, onChange: setChosen }}
    />
  );
}

afterEach(() => page.viewport(1280, 720));

const names = (): (string | null)[] =>
  [...document.querySelectorAll('tbody [role=rowheader]')].map(({ textContent }) => textContent);
const focusedRow = (): string | null | undefined =>
  document.activeElement?.querySelector('[role=rowheader]')?.textContent;

test('rows have the order in which people count', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={servers(12)} />);

  expect(names().slice(0, 3)).toEqual(['server-0', 'server-1', 'server-2']);
  expect(names().at(-1)).toBe('server-11');
});

test('numbers start with the greatest, and rows without a value come last in both directions', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={[...servers(3), { name: 'idle', calls: undefined }]} />);
  const head = page.getByRole('button', { name: 'Calls' });

  await head.click();
  expect(names()).toEqual(['server-2', 'server-1', 'server-0', 'idle']);
  await head.click();

  expect(names()).toEqual(['server-0', 'server-1', 'server-2', 'idle']);
  await expect
    .element(page.getByRole('columnheader', { name: 'Calls' }))
    .toHaveAttribute('aria-sort', 'ascending');
});

test('the keyboard goes to rows, selects, and opens them, and a row is one tab stop with its controls', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={servers(1_000)} />);
  document.querySelector<HTMLElement>('tbody tr')?.focus();

  await userEvent.keyboard('{ArrowDown}');
  expect(focusedRow()).toBe('server-1');
  await userEvent.keyboard(' ');
  await expect.element(page.getByRole('checkbox', { name: 'Select server-1', exact: true })).toBeChecked();
  await userEvent.keyboard('{End}');
  expect(focusedRow()).toBe('server-999');
  expect(document.activeElement?.getBoundingClientRect().bottom).toBeLessThanOrEqual(window.innerHeight);
  await userEvent.keyboard('{Home}');
  expect(focusedRow()).toBe('server-0');
  const stops = [...document.querySelectorAll<HTMLElement>('tbody *')].filter(
    (element) => element.tabIndex >= 0,
  );
  expect(stops.map(({ tagName }) => tagName)).toEqual(['TR', 'INPUT', 'A', 'BUTTON']);
  await userEvent.keyboard('{Enter}');

  await expect.element(page.getByRole('dialog').getByText('server-0')).toBeVisible();
});

test('a thousand rows need few elements, and those that are scrolled to appear', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={servers(1_000)} />);
  expect(document.querySelectorAll('tbody tr').length).toBeLessThan(80);

  window.scrollTo(0, document.body.scrollHeight);

  await expect.element(page.getByRole('link', { name: 'server-999' })).toBeInViewport();
  expect(document.querySelectorAll('tbody tr').length).toBeLessThan(80);
});

test('all rows can be selected at once, also those that are not rendered', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={servers(1_000)} />);

  await page.getByRole('checkbox', { name: 'Select all: Servers' }).click();
  window.scrollTo(0, document.body.scrollHeight);

  await expect.element(page.getByRole('checkbox', { name: 'Select server-999' })).toBeChecked();
});

test('columns leave by their rank, the actions stay, and the row still shows everything when it opens', async () => {
  await page.viewport(1280, 720);
  const { container } = await render(
    <div style={{ width: 500 }}>
      <Servers rows={servers(2)} />
    </div>,
  );

  await expect.element(page.getByRole('columnheader', { name: 'Note' })).not.toBeInTheDocument();
  await expect.element(page.getByRole('columnheader', { name: 'Calls' })).toBeVisible();
  const stop = page.getByRole('button', { name: 'Stop server-1' }).element().getBoundingClientRect();
  expect(stop.right).toBeLessThanOrEqual(
    (container.firstElementChild?.getBoundingClientRect().right ?? 0) + 1,
  );
  await page.getByText('1', { exact: true }).click();

  await expect.element(page.getByRole('dialog').getByText('a note')).toBeVisible();
});

test('a row is a card on a phone, with the name of each value', async () => {
  await page.viewport(360, 720);
  await render(<Servers rows={servers(3)} />);
  const rows = [...document.querySelectorAll('tbody tr')].map((row) => row.getBoundingClientRect());

  expect(document.querySelector('table')?.className).toContain('as-cards');
  expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(360);
  for (const [index, { top }] of rows.entries())
    expect(top).toBeGreaterThanOrEqual(rows[index - 1]?.bottom ?? 0);
  await expect.element(page.getByText('Select all')).toBeVisible();
  await page.getByRole('combobox', { name: 'Order of the list: Servers' }).selectOptions('calls');

  expect(names()).toEqual(['server-2', 'server-1', 'server-0']);
});

test('a row that a click does not mean stays closed', async () => {
  await page.viewport(1280, 720);
  await render(<Servers rows={servers(2)} />);

  await page.getByRole('button', { name: 'Stop server-1' }).click();

  await expect.element(page.getByRole('dialog')).not.toBeInTheDocument();
});

test('a long text gives way in its middle, and the pointer finds all of it', async () => {
  const text = `npx://@example/${'long-'.repeat(30)}server@1.2.3`;
  await page.viewport(1280, 720);
  await render(
    <div style={{ width: 300 }}>
      <Table
        label="Packages"
        columns={[
          { id: 'name', head: 'Name', width: 4, cell: () => 'one' },
          { id: 'source', head: 'Source', width: 8, grow: 1, cell: () => <Middle>{text}</Middle> },
        ]}
        rows={['one']}
        keyOf={(key) => key}
      />
    </div>,
  );
  const cell = page.getByRole('gridcell').first();

  await cell.hover();

  expect(cell.element().getAttribute('title')).toBe(text);
  const [start, end] = cell.element().querySelectorAll('.middle > span');
  expect(end?.textContent).toBe(text.slice(-14));
  expect(end?.scrollWidth).toBe(end?.clientWidth);
  expect(start?.scrollWidth).toBeGreaterThan(start?.clientWidth ?? 0);
});

/** A list whose rows can be removed. */
function Removable({ first }: { first: readonly Server[] }): ReactNode {
  const [rows, setRows] = useState(first);
  const actions: Column<Server> = {
    id: 'actions',
    head: 'Actions',
    kind: 'actions',
    width: 6,
    cell: ({ name }) => (
      <button type="button" onClick={() => setRows(rows.filter((each) => each.name !== name))}>
        {`Remove ${name}`}
      </button>
    ),
  };
  return (
    <main>
      <h1 tabIndex={-1}>Servers</h1>
      {rows.length > 0 && (
        <Table
          label="Servers"
          columns={[...columns.slice(0, 1), actions]}
          rows={rows}
          keyOf={({ name }) => name}
          firstSort={{ id: 'name', isDescending: false }}
        />
      )}
    </main>
  );
}

test('the focus goes from a removed row to the next one, then to the last one, and then to the heading', async () => {
  await page.viewport(1280, 720);
  await render(<Removable first={servers(3)} />);
  const remove = (name: string): Promise<void> =>
    page.getByRole('button', { name: `Remove ${name}` }).click();

  await remove('server-1');
  await expect.poll(focusedRow).toBe('server-2');
  await remove('server-2');
  await expect.poll(focusedRow).toBe('server-0');
  await remove('server-0');
  await expect.element(page.getByRole('heading', { name: 'Servers' })).toHaveFocus();
});

test('a removed row does not take the focus from elsewhere', async () => {
  await page.viewport(1280, 720);
  const screen = await render(<Servers rows={servers(3)} />);
  await userEvent.click(page.getByRole('button', { name: 'Stop server-1' }));
  await userEvent.click(page.getByRole('button', { name: 'Calls' }));

  await screen.rerender(<Servers rows={servers(1)} />);

  await expect.element(page.getByRole('button', { name: 'Calls' })).toHaveFocus();
});
