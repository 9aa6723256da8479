import type { ListedTool } from '@toolhive/contract/capabilities';
import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import { answerAs } from '../../testing/daemon.ts';
import OfferDialog from './offer-dialog.tsx';
import { withShown } from './tool-changes.ts';

const tool = (name: string, isShown: boolean): ListedTool => ({
  name,
  original_name: name,
  is_shown: isShown,
  estimated_tokens: 10,
  input_schema: { type: 'object' },
});

/** The dialog that disables the tool `act`. */
const open = (other: ListedTool) => {
  const act = tool('act', true);
  return render(
    <OfferDialog title="Disable this tool" name="odd" tool={act} tools={[act, other]} onClose={() => {}} />,
  );
};

test('the last tool cannot be disabled, because a workload without a list of tools offers all of them', async () => {
  const sent = answerAs({ listSessions: () => ({ sessions: [] }) });
  const screen = await open(tool('hidden', false));

  await expect.element(screen.getByText(/At least one tool has to stay enabled/)).toBeVisible();
  const save = screen.getByRole('button', { name: 'Save and restart' });
  await expect.element(save).toHaveAttribute('aria-disabled', 'true');
  await save.click({ force: true });

  expect(sent.filter(({ operation }) => operation !== 'listSessions')).toEqual([]);
});

test('a tool beside others can be disabled', async () => {
  answerAs({ listSessions: () => ({ sessions: [] }) });
  const screen = await open(tool('shown', true));

  await expect.element(screen.getByText('The server restarts.')).toBeVisible();
  await expect
    .element(screen.getByRole('button', { name: 'Save and restart' }))
    .not.toHaveAttribute('aria-disabled');
  expect(withShown([tool('act', true), tool('shown', true)], new Map([['act', false]]))).toEqual({
    tools: ['shown'],
  });
});
