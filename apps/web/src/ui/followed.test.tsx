import type { ReactNode } from 'react';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { useFollowed } from './followed.ts';

function Editor({ stored }: { stored: string }): ReactNode {
  const { text, set, isOvertaken } = useFollowed(stored);
  return (
    <>
      <input aria-label="Value" value={text} onChange={({ target }) => set(target.value)} />
      {isOvertaken && <p>{`changed to ${stored}`}</p>}
    </>
  );
}

test('a text follows the stored one until it is changed, and then learns of a change elsewhere', async () => {
  const screen = await render(<Editor stored="one" />);
  const field = screen.getByLabelText('Value');

  await screen.rerender(<Editor stored="two" />);
  await expect.element(field).toHaveValue('two');
  await field.fill('mine');
  expect(screen.getByText(/^changed/).query()).toBeNull();
  await screen.rerender(<Editor stored="three" />);

  await expect.element(screen.getByText('changed to three')).toBeVisible();
  await expect.element(field).toHaveValue('mine');
  await screen.rerender(<Editor stored="mine" />); // saved
  expect(screen.getByText(/^changed/).query()).toBeNull();
});
