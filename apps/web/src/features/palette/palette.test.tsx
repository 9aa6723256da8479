import type { Workload } from '@toolhive/contract/workload';
import { expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { answerAs } from '../../testing/daemon.ts';
import { Palette } from './palette.tsx';

const workload = (name: string, changes: Partial<Workload> = {}): Workload => ({
  name,
  package: `npx://${name}`,
  url: `http://127.0.0.1:20000/${name}`,
  port: 20_000,
  tool_type: 'mcp',
  transport_type: 'stdio',
  proxy_mode: 'streamable-http',
  status: 'running',
  created_at: '2026-01-31T09:30:00.000Z',
  group: 'default',
  remote: false,
  ...changes,
});

async function open() {
  const sent = answerAs({
    listWorkloads: () => ({ workloads: [workload('fetch'), workload('files', { status: 'stopped' })] }),
    stopWorkloads: () => undefined,
  });
  const onClose = vi.fn<() => void>();
  const screen = await render(<Palette onClose={onClose} />);
  const options = (): (string | null)[] =>
    screen
      .getByRole('option')
      .elements()
      .map((option) => option.textContent);
  await expect.poll(options).toContain('fetch');
  return { screen, options, sent, onClose };
}

test('a search finds commands by all its words, those that start with it first', async () => {
  const { screen, options } = await open();

  await userEvent.keyboard('registr');

  await expect.poll(options).toEqual(['Registries', 'Add a server from the registry']);
  await screen.getByRole('combobox').fill('files sta');
  await expect.poll(options).toEqual(['files: start', 'files: restart']);
});

test('the keyboard chooses and runs a command', async () => {
  const { screen, sent, onClose, options } = await open();
  await userEvent.keyboard('fetch: ');
  await expect.poll(options).toContain('fetch: stop');
  await expect.poll(options).not.toContain('files');

  await userEvent.keyboard('{ArrowDown}{ArrowUp}');
  await expect.element(screen.getByRole('option', { selected: true })).toHaveTextContent('fetch: stop');
  await userEvent.keyboard('{Enter}');

  await expect
    .poll(() => sent.filter(({ operation }) => operation === 'stopWorkloads'))
    .toMatchObject([{ body: { names: ['fetch'] } }]);
  expect(onClose).toHaveBeenCalledOnce();
});

test('the text field names the selected option, and says when nothing matches', async () => {
  const { screen } = await open();
  const field = screen.getByRole('combobox');

  const named = field.element().getAttribute('aria-activedescendant') ?? '';
  expect(document.getElementById(named)?.getAttribute('aria-selected')).toBe('true');
  await field.fill('nothing like this');

  await expect.element(screen.getByText('Nothing matches')).toBeVisible();
  expect(field.element().hasAttribute('aria-activedescendant')).toBe(false);
});
