import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { answerAs } from '../../testing/daemon.ts';
import { UpdateAction } from './update-action.tsx';

test('looks up each selected workload, shows what is newer, and installs it only after a confirmation', async () => {
  const sent = answerAs({
    getWorkloadUpdate: ({ path }) => {
      const isOld = path.includes('/old/');
      return {
        name: isOld ? 'old' : 'current',
        package: 'npx://one@1.0.0',
        current: '1.0.0',
        newest: isOld ? '1.1.0' : '1.0.0',
        outdated: isOld,
        young: isOld,
      };
    },
    upgradeWorkload: () => ({ name: 'old', port: 20_000 }),
  });
  const screen = await render(<UpdateAction names={['current', 'old']} />);

  await screen.getByRole('button', { name: 'Update all' }).click();
  const dialog = screen.getByRole('dialog');
  await expect
    .element(dialog.getByRole('listitem'))
    .toHaveTextContent('old: 1.0.0 → 1.1.0 published very recently');
  const before = sent.map(({ operation }) => operation);
  await dialog.getByRole('button', { name: 'Update', exact: true }).click();

  expect(before).toEqual(['getWorkloadUpdate', 'getWorkloadUpdate']);
  await expect
    .poll(() => sent.slice(2).map(({ operation, path, body }) => [operation, path, body]))
    .toEqual([
      ['upgradeWorkload', expect.stringContaining('/workloads/old/') as string, { version: '1.1.0' }],
    ]);
});
