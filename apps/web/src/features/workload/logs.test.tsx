import type { LogRecord } from '@toolhive/contract/log-record';
import { beforeEach, expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import '../../css/styles.css';
import { answerAs } from '../../testing/daemon.ts';
import { densityOf } from './log-density.tsx';
import { LogView } from './logs.tsx';

/** The address keeps the search of an earlier test. */
beforeEach(() => {
  const address = new URL(window.location.href);
  for (const name of ['q', 'hidden']) address.searchParams.delete(name);
  window.history.replaceState(null, '', address);
});

const record = (line: number, changes: Partial<LogRecord> = {}): LogRecord => ({
  line,
  at: new Date(Date.UTC(2026, 0, 31, 9, 30, 0, line)).toISOString(),
  stream: 'stderr',
  level: 'info',
  text: `line ${line}`,
  ...changes,
});

async function open(server: readonly LogRecord[], proxy: readonly LogRecord[] = []) {
  const asText = (records: readonly LogRecord[]): string =>
    records.map((each) => `${JSON.stringify(each)}\n`).join('');
  answerAs({ getWorkloadLogs: () => asText(server), getProxyLogs: () => asText(proxy) });
  const screen = await render(<LogView name="echo" />);
  const log = screen.getByRole('log');
  await expect.poll(() => screen.getByRole('status').element().textContent).toMatch(/^[1-9]/);
  return {
    ...screen,
    lines: () => [...log.element().querySelectorAll('.log-line')].map((line) => line.textContent),
  };
}

test('lines of the server and of the proxy appear in the order of their time', async () => {
  const { lines } = await open(
    [record(0), record(2)],
    [record(1, { stream: 'proxy', level: 'warn', text: 'from the proxy' })],
  );

  await expect
    .poll(lines)
    .toEqual([
      expect.stringContaining('line 0'),
      expect.stringMatching(/warn.*proxy.*from the proxy/),
      expect.stringContaining('line 2'),
    ]);
});

test('only the visible lines of a long log are in the page, and following shows the last one', async () => {
  const { lines, getByText } = await open(Array.from({ length: 5_000 }, (_none, line) => record(line)));

  await expect.element(getByText('line 4999', { exact: true })).toBeInViewport();

  expect(lines().length).toBeLessThan(200);
});

test('a search finds lines that the page has not read', async () => {
  const asText = (records: readonly LogRecord[]): string =>
    records.map((each) => `${JSON.stringify(each)}\n`).join('');
  const recent = [record(90, { text: 'disk is full' }), record(91)];
  const old = [record(3, { text: 'disk is nearly full' }), record(90, { text: 'disk is full' })];
  const sent = answerAs({
    getWorkloadLogs: ({ query }) => asText(query['search'] === undefined ? recent : old),
    getProxyLogs: () => '',
  });
  const screen = await render(<LogView name="echo" />);
  const status = screen.getByRole('status');
  await expect.element(status).toHaveTextContent('2 lines');
  await expect.element(status).toHaveAttribute('aria-live', 'off'); // every new line changes it

  await screen.getByLabelText('Search in the log').fill('disk');
  await expect.element(screen.getByText('disk is nearly full')).toBeVisible();
  await expect.element(status).toHaveTextContent('2 lines');
  await expect.element(status).toHaveAttribute('aria-live', 'polite');
  expect(sent.find(({ query }) => query['search'] === 'disk')?.query).toMatchObject({ before: '90' });

  await screen.getByLabelText('Search in the log').fill('');
  await expect.element(screen.getByText('disk is nearly full')).not.toBeInTheDocument();
});

test('a search and the levels choose lines', async () => {
  const screen = await open([record(0), record(1, { level: 'error', text: 'disk full' }), record(2)]);

  await screen.getByLabelText('Search in the log').fill('DISK');
  await expect.element(screen.getByRole('status')).toHaveTextContent('1 line of 3');
  await screen.getByRole('checkbox', { name: 'error' }).click();

  await expect.element(screen.getByRole('status')).toHaveTextContent('0 lines of 3');
});

test('a line is text, whatever the server writes', async () => {
  const { lines, container } = await open([record(0, { text: '<img src=x onerror=alert(1)>\u202Etxt' })]);

  await expect.poll(lines).toEqual([expect.stringContaining('<img src=x onerror=alert(1)>U+202Etxt')]);
  expect(container.querySelector('img')).toBeNull();
});

test('the picture of a log counts its lines over time, and leads to the lines of a time', async () => {
  const levels = ['info', 'warn', 'error'] as const;
  const all = Array.from({ length: 600 }, (_none, line) =>
    record(line, { level: levels[line % 3] ?? 'info' }),
  );
  const screen = await open(all);
  const picture = screen.getByRole('img', { name: /^600 lines from/ });
  await expect.element(picture).toBeVisible();
  const { label, starts, moments } = densityOf(all) ?? {};

  await picture.click({ position: { x: 1, y: 5 } });

  await expect.poll(screen.lines).toContainEqual(expect.stringMatching(/line 0$/));
  await expect.element(screen.getByRole('checkbox', { name: 'Follow' })).not.toBeChecked();
  expect(label).toMatch(/200 warnings, 200 errors$/);
  expect(starts?.slice(0, 3)).toEqual([0, 10, 20]);
  expect(moments?.reduce((sum, { amounts }) => sum + amounts.reduce((a, b) => a + b), 0)).toBe(600);
  expect(densityOf([record(1), record(1)])).toBeUndefined();
  expect(densityOf([{ ...record(1), at: undefined }])).toBeUndefined();
});
