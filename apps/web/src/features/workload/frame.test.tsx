import type { Workload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { Route, Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { refresh } from '../../api/store.ts';
import { answerAs } from '../../testing/daemon.ts';
import { WorkloadFrame, useWorkloadName } from './frame.tsx';

const odd: Workload = {
  name: 'odd',
  group: 'default',
  package: 'https://odd.example/mcp',
  url: 'http://127.0.0.1:1/mcp',
  port: 1,
  tool_type: 'mcp',
  transport_type: 'streamable-http',
  proxy_mode: 'streamable-http',
  status: 'running',
  remote: true,
  created_at: '2026-01-01T00:00:00Z',
};

function Screen() {
  return (
    <WorkloadFrame name={useWorkloadName()}>
      <input aria-label="Description" />
    </WorkloadFrame>
  );
}

const open = (path: string) => {
  const { hook } = memoryLocation({ path });
  return render(
    <Router hook={hook}>
      <Route path="/w/:name" component={Screen} />
    </Router>,
  );
};

test('a server that is removed elsewhere leaves the form with what was typed', async () => {
  let list = [odd];
  answerAs({ listWorkloads: () => ({ workloads: list }) });
  const screen = await open('/w/odd');
  await expect.element(screen.getByRole('button', { name: 'Restart' })).toBeVisible();
  await screen.getByLabelText('Description').fill('half a sen');

  list = [];
  refresh('workloads');

  await expect.element(screen.getByText(/This server was removed elsewhere/)).toBeVisible();
  await expect.element(screen.getByLabelText('Description')).toHaveValue('half a sen');
  expect(screen.getByRole('button', { name: 'Restart' }).query()).toBe(null);
});

test('the state of a server is announced when it changes', async () => {
  let list = [odd];
  answerAs({ listWorkloads: () => ({ workloads: list }) });
  refresh('workloads'); // an earlier test has loaded others
  const screen = await open('/w/odd');
  await expect.element(screen.getByRole('status')).toHaveTextContent('Running');

  list = [{ ...odd, status: 'stopped' }];
  refresh('workloads');

  await expect.element(screen.getByRole('status')).toHaveTextContent('Stopped');
});

test.each(['/w/gone', '/w/%E0%A4%A', '/w/%zz'])(
  'a link to %s says that there is no such server',
  async (path) => {
    answerAs({ listWorkloads: () => ({ workloads: [] }) });
    const screen = await open(path);

    await expect.element(screen.getByText('This server does not exist')).toBeVisible();
  },
);
