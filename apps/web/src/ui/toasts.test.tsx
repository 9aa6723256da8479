import { afterEach, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { Toasts } from './toast-list.tsx';
import { ThvError } from '@toolhive/contract/failure';
import { Dialog } from './dialog.tsx';
import { toast, toastFailure, withUndo } from './toasts.ts';

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

test('the time to undo an action does not end while the keyboard is in the messages', async () => {
  const { steps, screen } = await announce();
  const undo = screen.getByRole('button', { name: 'Undo' }).element() as HTMLElement;

  undo.focus();
  await vi.advanceTimersByTimeAsync(12_000);
  expect(steps).toEqual([]);
  undo.blur();
  await vi.advanceTimersByTimeAsync(6_000);

  expect(steps).toEqual(['run']);
});

test('an Undo stays until its time ends, however many messages follow', async () => {
  const { steps, screen } = await announce();

  for (let index = 0; index < 12; index++) toast(`Message ${index}`);
  await expect.element(screen.getByText('Message 11')).toBeVisible();
  expect(screen.getByText('Message 7', { exact: true }).query()).toBeNull();
  await screen.getByRole('button', { name: 'Undo' }).click();
  await vi.runAllTimersAsync();

  expect(steps).toEqual(['undo']);
});

test('a message appears in a region that announces it, also over a modal dialog', async () => {
  const screen = await render(
    <>
      <Toasts />
      <Dialog title="Replace a secret" onClose={() => {}}>
        <button type="button">Save</button>
      </Dialog>
    </>,
  );
  const dialog = screen.getByRole('dialog', { name: 'Replace a secret' });
  const region = dialog.getByRole('region', { name: 'Notifications' });
  await expect.element(region).toHaveAttribute('aria-live', 'polite');

  toastFailure('Cannot save', new ThvError('unavailable', 'the disk is full'));
  await expect.element(region.getByRole('alert').getByText(/the disk is full/)).toBeVisible();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await region.getByRole('button', { name: 'Dismiss' }).click();

  await expect.element(dialog.getByRole('button', { name: 'Save' })).toHaveFocus();
});
