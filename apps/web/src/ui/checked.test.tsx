import { useState } from 'react';
import type { ReactNode } from 'react';
import { invalid } from '@toolhive/contract/failure';
import type { WorkloadCheck } from '@toolhive/contract/preview';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { answerAs } from '../testing/daemon.ts';
import { CheckedPermissions } from './checked.tsx';
import { emptyDraft } from './workload-draft.ts';
import type { Draft } from './workload-draft.ts';

const draft: Draft = {
  ...emptyDraft,
  image: 'npx://weather',
  network: 'hosts',
  hosts: 'api.weather.example',
};

const checked: WorkloadCheck = {
  name: 'weather',
  package: 'npx://weather',
  remote: false,
  runtime: 'process',
  risks: [{ risk: 'mount-credentials', text: '/home/ada/.ssh contains <b>private</b> keys' }],
};

test('until the daemon answers, the permissions of the form are shown, and then its risks', async () => {
  const sent = answerAs({ checkWorkload: () => checked });
  const screen = await render(<CheckedPermissions draft={draft} />);

  await expect.poll(() => screen.container.textContent).toContain('api.weather.example');
  await expect
    .element(screen.getByText('Needs your consent: /home/ada/.ssh contains <b>private</b> keys'))
    .toBeVisible();
  expect(sent).toMatchObject([{ body: { image: 'npx://weather' } }]);
});

test('a secret is not sent for a check', async () => {
  const sent = answerAs({ checkWorkload: () => checked });
  const variables = [{ name: 'TOKEN', kind: 'new-secret', value: 'battery staple' }] as const;
  await render(<CheckedPermissions draft={{ ...draft, variables }} />);

  await expect.poll(() => sent).toHaveLength(1);

  expect(JSON.stringify(sent)).not.toContain('battery');
  expect(sent).toMatchObject([{ body: { env_vars: { TOKEN: 'secret' } } }]);
});

function Changing(): ReactNode {
  const [image, setImage] = useState('npx://first');
  return (
    <>
      <button type="button" onClick={() => setImage('npx://second')}>
        Change
      </button>
      <CheckedPermissions draft={{ ...draft, image }} />
    </>
  );
}

test('the answer to an earlier form is not shown, and the reason for a refusal is', async () => {
  const sent = answerAs({
    checkWorkload: ({ body }) =>
      (body as { image: string }).image === 'npx://second' ? invalid('npx://second not found') : checked,
  });
  const screen = await render(<Changing />);

  await screen.getByRole('button', { name: 'Change' }).click();

  await expect.element(screen.getByText('Not ready to run: npx://second not found')).toBeVisible();
  expect(screen.getByText(/Needs your consent/).query()).toBeNull();
  expect(sent.length).toBeLessThanOrEqual(2);
});

function Running(): ReactNode {
  const [isRunning, setRunning] = useState(true);
  return (
    <>
      <button type="button" onClick={() => setRunning(false)}>
        End
      </button>
      <CheckedPermissions draft={draft} isRunning={isRunning} />
    </>
  );
}

test('a draft that is being run is checked only when that has ended', async () => {
  let isRunning = true;
  const sent = answerAs({
    checkWorkload: () => (isRunning ? invalid('weather is being created') : checked),
  });
  const screen = await render(
    <>
      <Running />
      <CheckedPermissions draft={{ ...draft, image: 'npx://other' }} />
    </>,
  );
  await expect.poll(() => sent).toHaveLength(1); // of the other form, so that this one would have asked, too

  isRunning = false;
  await screen.getByRole('button', { name: 'End' }).click();

  await expect.poll(() => sent).toHaveLength(2);
  expect(sent).toMatchObject([{ body: { image: 'npx://other' } }, { body: { image: 'npx://weather' } }]);
});
