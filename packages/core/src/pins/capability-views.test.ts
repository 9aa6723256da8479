import { maxPinnedItems } from '@toolhive/contract/tool-pins';
import { expect, test } from 'vitest';
import { CapabilityViews } from './capability-views.ts';

test('items beyond those that are recorded are not remembered, because a list need not end', () => {
  const views = new CapabilityViews();
  views.begin('tool', 0);

  const isFirst = Array.from({ length: maxPinnedItems + 2 }, (_, at) =>
    views.isFirst('tool', '', `t${at}`, 1),
  );

  expect(isFirst.slice(-3)).toEqual([true, false, false]);
});
