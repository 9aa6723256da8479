import { useState } from 'react';
import type { ReactNode } from 'react';
import { expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { Instant } from './instant.tsx';
import { SharedTurn, useOwnTurn } from './turn.ts';

/** A box whose changes end when the test says so, and how many have begun. */
function aBox() {
  const changes: ((isDone: boolean) => void)[] = [];
  function Box({ name }: { name: string }): ReactNode {
    const [isOn, setOn] = useState(false);
    const change = async (next: boolean): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      changes.push(resolve);
      if (await promise) setOn(next);
    };
    return (
      <Instant isOn={isOn} onChange={change}>
        {name}
      </Instant>
    );
  }
  return { changes, Box };
}

test('a box that changes is busy, keeps the focus, and cannot be changed again', async () => {
  const { changes, Box } = aBox();
  const screen = await render(<Box name="Cursor" />);
  const box = screen.getByRole('checkbox', { name: 'Cursor' });

  await box.click();
  await userEvent.keyboard(' ');

  await expect.element(box).toBeChecked();
  await expect.element(box).toHaveAttribute('aria-busy', 'true');
  await expect.element(box).toHaveAttribute('aria-disabled', 'true');
  await expect.element(box).toHaveFocus();
  expect(changes).toHaveLength(1);

  changes[0]?.(true);
  await expect.element(box).not.toHaveAttribute('aria-busy');
  await expect.element(box).toBeChecked();
});

test('a box shows the real state after a change that failed', async () => {
  const { changes, Box } = aBox();
  const screen = await render(<Box name="Cursor" />);
  const box = screen.getByRole('checkbox', { name: 'Cursor' });

  await box.click();
  await expect.element(box).toBeChecked();
  changes[0]?.(false);

  await expect.element(box).not.toBeChecked();
  await expect.element(box).not.toHaveAttribute('aria-disabled');
});

test('of boxes that exclude each other, only one changes at a time', async () => {
  const { changes, Box } = aBox();
  function Screen(): ReactNode {
    return (
      <SharedTurn value={useOwnTurn()}>
        <Box name="Meta" />
        <Box name="Combined" />
      </SharedTurn>
    );
  }
  const screen = await render(<Screen />);

  await screen.getByRole('checkbox', { name: 'Meta' }).click();
  await screen.getByRole('checkbox', { name: 'Combined' }).click({ force: true });

  expect(changes).toHaveLength(1);
  await expect.element(screen.getByRole('checkbox', { name: 'Combined' })).not.toBeChecked();
});
