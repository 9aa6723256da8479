import { expect, test } from 'vitest';
import { listedRequirements } from './listed-requirements.ts';

test.each([
  ['httpx', ['httpx']],
  ['httpx,rich', ['httpx', 'rich']],
  ['fastmcp>=2.0,<4', ['fastmcp>=2.0,<4']],
  ['fastmcp >= 2.0, < 4, httpx!=0.27', ['fastmcp >= 2.0, < 4', 'httpx!=0.27']],
  ['mcp[cli,ws]>=1,<2,rich', ['mcp[cli,ws]>=1,<2', 'rich']],
  [',httpx,', ['httpx']],
  ['', []],
])('%j has the requirements %j', (text, requirements) => {
  expect(listedRequirements(text)).toEqual(requirements);
});

test('a long list is read at once', () => {
  const names = Array.from({ length: 200_000 }, () => 'a');

  expect(listedRequirements(names.join())).toHaveLength(names.length);
});
