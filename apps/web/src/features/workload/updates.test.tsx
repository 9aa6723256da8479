import type { Workload } from '@toolhive/contract/workload';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { answerAs } from '../../testing/daemon.ts';
import { Updates } from './updates.tsx';

const workload: Workload = {
  name: 'old',
  group: 'default',
  created_at: '2026-01-01T00:00:00Z',
  labels: {},
  package: 'npx://one@1.0.0',
  port: 20_000,
  proxy_mode: 'streamable-http',
  remote: false,
  status: 'running',
  tool_type: 'mcp',
  transport_type: 'stdio',
  url: 'http://127.0.0.1:20000/mcp',
  newer_version: '1.1.0',
};

test('shows a known version, and asks the package registry only on request', async () => {
  const sent = answerAs({
    listWorkloads: () => ({ workloads: [workload] }),
    getWorkloadUpdate: () => ({
      name: 'old',
      package: 'npx://one@1.0.0',
      current: '1.0.0',
      newest: '1.2.0',
      outdated: true,
      young: false,
    }),
  });
  const asked = (): number => sent.filter(({ operation }) => operation === 'getWorkloadUpdate').length;
  const screen = await render(<Updates name="old" />);

  await expect.element(screen.getByText('Version 1.1.0 is available.')).toBeVisible();
  const before = asked();
  await screen.getByRole('button', { name: 'Look again and show its changes' }).click();

  await expect.element(screen.getByRole('button', { name: 'Update to 1.2.0' })).toBeVisible();
  expect([before, asked()]).toEqual([0, 1]);
});
