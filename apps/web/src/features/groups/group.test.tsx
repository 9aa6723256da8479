import type { Group } from '@toolhive/contract/group';
import { ThvError } from '@toolhive/contract/failure';
import type { Workload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { Route, Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { answerAs } from '../../testing/daemon.ts';
import type { SentRequest } from '../../testing/daemon.ts';
import { Toasts } from '../../ui/toast-list.tsx';
import { GroupScreen } from './group.tsx';

const echo: Workload = {
  name: 'echo',
  group: 'default',
  package: 'npx://echo',
  url: 'http://127.0.0.1:1/mcp',
  port: 1,
  tool_type: 'mcp',
  transport_type: 'stdio',
  proxy_mode: 'streamable-http',
  status: 'running',
  remote: false,
  created_at: '2026-01-01T00:00:00Z',
};
const aGroup = (name: string): Group => ({ name, registered_clients: [] });

/** The screen of a group whose daemon refuses every change. */
async function open(): Promise<{ sent: SentRequest[]; screen: Awaited<ReturnType<typeof render>> }> {
  const refused = (): ThvError => new ThvError('unavailable', 'the disk is full');
  const sent = answerAs({
    listGroups: () => ({ groups: [aGroup('default'), aGroup('other'), aGroup('research')] }),
    listWorkloads: () => ({ workloads: [echo] }),
    discoverClients: () => ({ clients: [] }),
    listClients: () => [],
    getDaemon: refused,
    getWorkload: refused,
    editGroup: refused,
  });
  const { hook } = memoryLocation({ path: '/groups/default' });
  const screen = await render(
    <Router hook={hook}>
      <Route path="/groups/:name" component={GroupScreen} />
      <Toasts />
    </Router>,
  );
  await expect.element(screen.getByRole('button', { name: /^Move to another group/ })).toBeVisible();
  return { sent, screen };
}

const operations = (sent: readonly SentRequest[]): string[] =>
  sent.map(({ operation }) => operation).filter((id) => id === 'getWorkload' || id === 'editGroup');

test('the keyboard reaches every group before a server moves', async () => {
  const { sent, screen } = await open();

  (screen.getByRole('button', { name: 'Move to another group: echo' }).element() as HTMLElement).focus();
  await userEvent.keyboard('{Enter}');
  await expect.element(screen.getByRole('menuitem', { name: 'other' })).toHaveFocus();
  await userEvent.keyboard('{ArrowDown}');
  await expect.element(screen.getByRole('menuitem', { name: 'research' })).toHaveFocus();
  expect(operations(sent)).toEqual([]);
  await userEvent.keyboard('{Enter}');

  await expect.element(screen.getByText(/^Cannot move echo: the disk is full/)).toBeVisible();
  expect(operations(sent)).toEqual(['getWorkload']);
});

test('an endpoint that could not be changed shows its real state', async () => {
  const { sent, screen } = await open();
  const box = screen.getByRole('checkbox', { name: /^Give clients only a meta server/ });

  await box.click();

  await expect.element(screen.getByText(/^Cannot change the endpoint/)).toBeVisible();
  await expect.element(box).not.toHaveAttribute('aria-busy');
  await expect.element(box).not.toBeChecked();
  expect(operations(sent)).toEqual(['editGroup']);
});
