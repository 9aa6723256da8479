import type { Workload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { sorted } from '../../ui/table/columns.ts';
import { homeColumns } from './columns.tsx';
import type { HomeRow } from './columns.tsx';

const row = (name: string, changes: Partial<Workload> = {}): HomeRow => ({
  workload: {
    name,
    package: `npx://${name}`,
    url: '',
    port: 20_000,
    tool_type: 'mcp',
    transport_type: 'stdio',
    proxy_mode: 'streamable-http',
    status: 'running',
    created_at: '2026-01-31T09:30:00.000Z',
    group: 'default',
    remote: false,
    ...changes,
  },
  figures: undefined,
  group: undefined,
});

const order = (id: string, rows: readonly HomeRow[], isDescending = false): string[] =>
  sorted(rows, homeColumns, { id, isDescending }).map(({ workload: { name } }) => name);

test('rows are sorted by tokens, known updates, and access, and those without come last', () => {
  const rows = [
    row('remote'),
    row('large', { tool_tokens: 9_000, access: { files: 'write', network: 'any', secrets: 0 } }),
    row('small', {
      tool_tokens: 80,
      newer_version: '2.0.0',
      access: { files: 'none', network: 'none', secrets: 1 },
    }),
  ];

  expect(order('tokens', rows)).toEqual(['small', 'large', 'remote']);
  expect(order('tokens', rows, true)).toEqual(['large', 'small', 'remote']);
  expect(order('update', rows)[0]).toBe('small');
  expect(order('access', rows, true)).toEqual(['large', 'small', 'remote']);
});

test('a version in the list is shown as text of others', async () => {
  const cell = homeColumns.find(({ id }) => id === 'update')?.cell;
  const screen = await render(<>{cell?.(row('one', { newer_version: '2.0\u202e' }))}</>);

  await expect.element(screen.getByRole('link')).toHaveTextContent('2.0U+202E');
});
