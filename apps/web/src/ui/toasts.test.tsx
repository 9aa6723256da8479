import { afterEach, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { Toasts } from './toast-list.tsx';
import { withUndo } from './toasts.ts';

afterEach(() => void vi.useRealTimers());

/** Announces an action with a clock that the test controls, and returns the steps that follow. */
async function announce(): Promise<{ steps: string[]; screen: Awaited<ReturnType<typeof render>> }> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const steps: string[] = [];
  const screen = await render(<Toasts />);
  withUndo('Removing echo', { run: () => steps.push('run'), onUndo: () => steps.push('undo') });
  await expect.element(screen.getByText('Removing echo')).toBeVisible();
  return { steps, screen };
}

test('an action runs when the time to undo it is over', async () => {
  const { steps, screen } = await announce();
  expect(steps).toEqual([]);

  await vi.runAllTimersAsync();

  expect(steps).toEqual(['run']);
  expect(screen.getByText('Removing echo').query()).toBeNull();
});

test('an action that is undone never runs', async () => {
  const { steps, screen } = await announce();

  await screen.getByRole('button', { name: 'Undo' }).click();
  await vi.runAllTimersAsync();
  window.dispatchEvent(new Event('pagehide'));

  expect(steps).toEqual(['undo']);
});

test('an action runs at once when the page is closed, and only once', async () => {
  const { steps } = await announce();

  window.dispatchEvent(new Event('pagehide'));
  await vi.runAllTimersAsync();

  expect(steps).toEqual(['run']);
});
