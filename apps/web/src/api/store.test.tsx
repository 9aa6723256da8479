import { useState } from 'react';
import type { ReactNode } from 'react';
import { unavailable } from '@toolhive/contract/failure';
import { expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { followEvents } from './events.ts';
import { refresh, startStore, useResource } from './store.ts';

vi.mock('./events.ts', () => ({ followEvents: vi.fn<typeof followEvents>() }));

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

test('what could not be loaded is loaded again after the next connection, also to the same daemon', async () => {
  startStore();
  const [daemon] = vi.mocked(followEvents).mock.calls[0] ?? [];
  let isConnected = false;
  const load = async (): Promise<string> => {
    if (!isConnected) throw unavailable('the daemon does not respond');
    return 'loaded';
  };
  function Screen(): ReactNode {
    const { data, error } = useResource({ key: 'interrupted', load });
    return <p>{data ?? error?.message ?? 'Loading'}</p>;
  }
  daemon?.onConnection('lost');
  const screen = await render(<Screen />);
  await expect.element(screen.getByText('the daemon does not respond')).toBeVisible();

  isConnected = true;
  daemon?.onConnection('live');

  await expect.element(screen.getByText('loaded', { exact: true })).toBeVisible();
});

test('a tab that is not seen does not poll, and is current as soon as it is seen', async () => {
  startStore();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const visibility = vi.spyOn(document, 'visibilityState', 'get');
  try {
    let loads = 0;
    const load = async (): Promise<number> => ++loads;
    function Screen(): ReactNode {
      return <p>{useResource({ key: 'polled', load, everyMs: 1_000 }).data}</p>;
    }
    const screen = await render(<Screen />);
    await vi.advanceTimersByTimeAsync(1_500);
    await expect.element(screen.getByText('2', { exact: true })).toBeVisible();

    visibility.mockReturnValue('hidden');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(loads).toBe(2);
    visibility.mockReturnValue('visible');
    document.dispatchEvent(new Event('visibilitychange'));

    await expect.element(screen.getByText('3', { exact: true })).toBeVisible();
  } finally {
    visibility.mockRestore();
    vi.useRealTimers();
  }
});

/** A screen with data that each event changes. */
async function openChanging(key: string) {
  startStore();
  const [daemon] = vi.mocked(followEvents).mock.calls.at(-1) ?? [];
  const loads: number[] = [];
  const load = async (): Promise<number> => loads.push(Date.now());
  function Screen(): ReactNode {
    return <p>{useResource({ key, load, isChangedBy: () => true }).data}</p>;
  }
  await render(<Screen />);
  await expect.poll(() => loads).toHaveLength(1);
  const event = (): void =>
    daemon?.onEvent({ type: 'workload.removed', at: new Date().toISOString(), name: 'odd' });
  return { loads, event };
}

test('a flood of events loads data twice a second, at once after the first event, and once after the last', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  try {
    const { loads, event } = await openChanging('flooded');
    await vi.advanceTimersByTimeAsync(5_000);
    event();
    await vi.advanceTimersByTimeAsync(0);
    expect(loads).toHaveLength(2);

    for (let sent = 0; sent < 300; sent++) {
      await vi.advanceTimersByTimeAsync(10);
      event();
    }
    const last = Date.now();
    await vi.advanceTimersByTimeAsync(10_000);

    expect(loads.length).toBeLessThanOrEqual(2 + 7);
    expect(loads.at(-1)).toBeGreaterThanOrEqual(last);
  } finally {
    vi.useRealTimers();
  }
});

test('an action of the user loads data soon, also in a flood of events', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  try {
    const { loads, event } = await openChanging('acted');
    event();
    refresh('acted');
    event();
    await vi.advanceTimersByTimeAsync(100);

    expect(loads).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});
