import { expect, test } from 'vitest';
import { render } from 'vitest-browser-react';
import type { PinnedItem, ToolPins } from '@toolhive/contract/tool-pins';
import { answerAs } from '../../testing/daemon.ts';
import ReviewedItems from './reviewed-items.tsx';

const suspicious = (amount: number): ToolPins => ({
  mode: 'warn',
  pending: 0,
  complete: true,
  items: Array.from({ length: amount }, (_, index): PinnedItem => ({
    kind: 'tool',
    name: `tool-${index}`,
    state: 'approved',
    approved_hash: 'a'.repeat(64),
    approved_at: '2026-01-31T09:30:00.000Z',
    findings: [{ rule: 'invisible', severity: 'high', message: 'contains invisible characters' }],
  })),
});

test('a server with thousands of suspicious texts does not push its tools out of reach', async () => {
  answerAs({ getToolPins: () => suspicious(2_000) });
  const screen = await render(<ReviewedItems name="many" />);

  await expect.element(screen.getByText('10 of 2,000 texts')).toBeVisible();
  expect(document.querySelectorAll('details')).toHaveLength(10);
  await screen.getByRole('button', { name: 'Show 100 more' }).click();

  await expect.element(screen.getByText('110 of 2,000 texts')).toBeVisible();
  expect(document.querySelectorAll('details')).toHaveLength(110);
});
