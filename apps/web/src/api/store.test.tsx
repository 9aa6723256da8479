import { useState } from 'react';
import type { ReactNode } from 'react';
import { expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { refresh, useResource } from './store.ts';

/** A screen that can be left, with data that changes. */
function openScreens(key: string) {
  const served = { text: 'first' };
  const resource = { key, load: async () => served.text };
  function Screen(): ReactNode {
    const { data } = useResource(resource);
    return <p>{data ?? 'Loading'}</p>;
  }
  function Screens(): ReactNode {
    const [isOpen, setOpen] = useState(true);
    return (
      <>
        <button type="button" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Leave' : 'Open'}
        </button>
        {isOpen && <Screen />}
      </>
    );
  }
  return { served, screens: <Screens /> };
}

test('a screen that was left, whose data changed, and that is open again for a minute, stays current', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { served, screens } = openScreens('left-and-opened');
    const screen = await render(screens);
    await expect.element(screen.getByText('first')).toBeVisible();

    await screen.getByRole('button', { name: 'Leave' }).click();
    refresh('left-and-opened'); // as an event does
    served.text = 'second';
    await screen.getByRole('button', { name: 'Open' }).click();
    await expect.element(screen.getByText('second')).toBeVisible();
    await vi.advanceTimersByTimeAsync(61_000);
    served.text = 'third';
    refresh('left-and-opened');
    await vi.advanceTimersByTimeAsync(1_000);

    await expect.element(screen.getByText('third')).toBeVisible();
  } finally {
    vi.useRealTimers();
  }
});

test('going back within a minute shows the earlier data at once', async () => {
  const { served, screens } = openScreens('kept');
  const screen = await render(screens);
  await expect.element(screen.getByText('first')).toBeVisible();

  await screen.getByRole('button', { name: 'Leave' }).click();
  served.text = 'second';
  await screen.getByRole('button', { name: 'Open' }).click();

  expect(screen.container.textContent).toContain('first');
});
