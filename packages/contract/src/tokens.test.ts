import { expect, test } from 'vitest';
import { estimateTokens, tokensOfTool, tokensOfTools } from './tokens.ts';

const tool = { name: 'read_file', description: 'Reads a file. '.repeat(20), inputSchema: { type: 'object' } };

test('a list of tools has the tokens of its tools', () => {
  expect(tokensOfTools([])).toBe(0);
  expect(tokensOfTools([tool, tool])).toBe(2 * tokensOfTool(tool));
});

test('the rest of a long list counts like its beginning', () => {
  const tools = Array.from({ length: 5_000 }, () => tool);

  expect(tokensOfTools(tools) / (5_000 * tokensOfTool(tool))).toBeCloseTo(1, 1);
});

test('an estimate stops above its limit', () => {
  const text = 'a.'.repeat(1_000_000);

  expect(estimateTokens(text, 100)).toBeGreaterThan(100);
  expect(estimateTokens(text, 100)).toBeLessThan(200);
});

test.each(['aA', 'a', ' ', '漢', '.'])('an estimate stops within a long run of %j', (unit) => {
  expect(estimateTokens(unit.repeat(1_000_000), 100)).toBeLessThan(2_000);
});

test('very long lists are counted in time', { timeout: 60_000 }, () => {
  const tools = Array.from({ length: 200 }, () => ({ description: 'a.'.repeat(30_000) }));

  const counted = Array.from({ length: 50 }, () => tokensOfTools(tools));

  expect(new Set(counted).size).toBe(1);
});
