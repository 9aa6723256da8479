import { expect, test } from 'vitest';
import { maxFirstFiles, weighUi, weightBudgets } from './weight.ts';

test('the first view, every other screen, and the styles are within their budgets', async () => {
  const { firstView, firstFiles, style, screens } = await weighUi();

  const heavy = [...screens].filter(([, bytes]) => bytes > weightBudgets.screen);
  expect(heavy).toEqual([]);
  // Every address but the home screen has a chunk, and none of them is empty.
  expect(screens.size).toBe(18);
  expect(Math.min(firstView, style, ...screens.values())).toBeGreaterThan(0);
  expect(firstView).toBeLessThanOrEqual(weightBudgets.firstView);
  expect(firstFiles).toBeLessThanOrEqual(maxFirstFiles);
  expect(style).toBeLessThanOrEqual(weightBudgets.style);
});
