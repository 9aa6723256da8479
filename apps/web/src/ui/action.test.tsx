import { useState } from 'react';
import type { ReactNode } from 'react';
import { userEvent } from 'vitest/browser';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { Action } from './action.tsx';
import { Dialog } from './dialog.tsx';
import { Form, TextField } from './fields.tsx';
import { Toasts } from './toast-list.tsx';

/** An action of the daemon that ends when the test says so. */
function slowAction() {
  const runs: (() => void)[] = [];
  const run = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    runs.push(resolve);
    return promise;
  };
  return { runs, run };
}

test('an action that runs is not carried out again, and its button keeps the focus', async () => {
  const { runs, run } = slowAction();
  const screen = await render(<Action onClick={run}>Save</Action>);
  const button = screen.getByRole('button', { name: 'Save' });

  await button.click();
  await userEvent.keyboard('{Enter} ');

  expect(runs).toHaveLength(1);
  await expect.element(button).toHaveAttribute('aria-busy', 'true');
  await expect.element(button).toHaveAttribute('aria-disabled', 'true');
  await expect.element(button).toHaveFocus();

  runs[0]?.();
  await expect.element(button).not.toHaveAttribute('aria-disabled');
  await userEvent.keyboard('{Enter}');
  expect(runs).toHaveLength(2);
});

test('an action that fails shows that, and can be carried out again', async () => {
  const screen = await render(
    <>
      <Action onClick={() => Promise.reject(new Error('the disk is full'))}>Save</Action>
      <Toasts />
    </>,
  );
  const button = screen.getByRole('button', { name: 'Save' });

  await button.click();

  await expect.element(screen.getByText(/the disk is full/)).toBeVisible();
  await expect.element(button).not.toHaveAttribute('aria-disabled');
});

test('the second click of a double click does nothing, also when the action has ended at once', async () => {
  let runs = 0;
  const screen = await render(<Action onClick={() => (runs += 1)}>Stop</Action>);

  await screen.getByRole('button', { name: 'Stop' }).dblClick();

  expect(runs).toBe(1);
});

test('a form is submitted once at a time, by its button and by the Enter key', async () => {
  const { runs, run } = slowAction();
  const screen = await render(
    <Form onSubmit={run}>
      <TextField label="Name" value="a" onChange={() => {}} />
      <Action type="submit">Create</Action>
    </Form>,
  );
  const button = screen.getByRole('button', { name: 'Create' });

  await screen.getByLabelText('Name').click();
  await userEvent.keyboard('{Enter}{Enter}');
  await expect.element(button).toHaveAttribute('aria-busy', 'true');
  await button.dblClick({ force: true });
  expect(runs).toHaveLength(1);

  runs[0]?.();
  await expect.element(button).not.toHaveAttribute('aria-disabled');
  await userEvent.keyboard('{Enter}');
  expect(runs).toHaveLength(2);
});

test('while an action of a dialog runs, the other ones do nothing', async () => {
  const { runs, run } = slowAction();
  let others = 0;
  const screen = await render(
    <Dialog title="Choose" onClose={() => {}}>
      <Action onClick={run}>Use</Action>
      <Action onClick={() => (others += 1)}>Keep</Action>
    </Dialog>,
  );

  await screen.getByRole('button', { name: 'Use' }).click();
  await expect.element(screen.getByRole('button', { name: 'Keep' })).toHaveAttribute('aria-disabled', 'true');
  await screen.getByRole('button', { name: 'Keep' }).click({ force: true });
  expect(others).toBe(0);

  runs[0]?.();
  await screen.getByRole('button', { name: 'Keep' }).click();
  expect(others).toBe(1);
});

test('the focus returns to the button that opened a dialog, also when the page closes the dialog', async () => {
  function Screen(): ReactNode {
    const [isOpen, setOpen] = useState(false);
    return (
      <>
        <Action onClick={() => setOpen(true)}>Rename</Action>
        {isOpen && (
          <Dialog title={`Rename a\u202Eb`} onClose={() => setOpen(false)}>
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
          </Dialog>
        )}
      </>
    );
  }
  const screen = await render(<Screen />);

  await screen.getByRole('button', { name: 'Rename' }).click();
  await expect.element(screen.getByRole('heading', { name: 'Rename aU+202Eb' })).toBeVisible();
  await screen.getByRole('button', { name: 'Cancel' }).click();

  await expect.element(screen.getByRole('button', { name: 'Rename' })).toHaveFocus();
});
