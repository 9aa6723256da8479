import { notFound } from '@toolhive/contract/failure';
import type { Workload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { Route, Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { learning, toolPins } from '../../api/resources.ts';
import { refresh, useResource } from '../../api/store.ts';
import { answerAs } from '../../testing/daemon.ts';
import { Shown } from '../../ui/states.tsx';
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

const pins = { mode: 'off' as const, pending: 0, complete: true, items: [] };

/** A page with parts that are loaded on their own. */
function Parts() {
  const name = useWorkloadName();
  const [records, tools] = [learning(name), toolPins(name)];
  return (
    <WorkloadFrame name={name}>
      <Shown loaded={useResource(tools)} name={tools.key} what="the pins">
        {() => <p>The pins</p>}
      </Shown>
      <Shown loaded={useResource(records)} name={records.key} what="the records">
        {() => <p>The records</p>}
      </Shown>
    </WorkloadFrame>
  );
}

const open = (path: string, component = Screen) => {
  const { hook } = memoryLocation({ path });
  return render(
    <Router hook={hook}>
      <Route path="/w/:name" component={component} />
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

test('a server that is removed elsewhere is reported once, and not by each part of its page', async () => {
  const missing = notFound('workload odd not found');
  let list = [odd];
  answerAs({
    listWorkloads: () => ({ workloads: list }),
    getToolPins: () => (list.length > 0 ? pins : missing),
    getLearning: () => missing,
  });
  refresh('workloads'); // an earlier test has loaded others
  const screen = await open('/w/odd', Parts);
  await expect.element(screen.getByText('The pins')).toBeVisible();
  await expect.element(screen.getByText('Cannot load the records')).toBeVisible();

  list = [];
  refresh('workloads');
  refresh('pins/odd');

  await expect.element(screen.getByText(/This server was removed elsewhere/)).toBeVisible();
  await expect.element(screen.getByText('This part is no longer available.')).toBeVisible();
  await expect.element(screen.getByText('The pins')).toBeVisible();
  expect(screen.getByRole('alert').all()).toHaveLength(1);
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
