import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatTable, newsOf } from './out.ts';

const header = ['NAME', 'PACKAGE', 'STATUS'];
const rows = [
  ['filesystem', 'npx://@modelcontextprotocol/server-filesystem@2026.7.4', '\u001b[32mrunning\u001b[39m'],
  ['time', 'uvx://mcp-server-time', '\u001b[31merror\u001b[39m'],
];

describe('a table', () => {
  test('is as wide as its content if no width is set', () => {
    expect(formatTable(header, rows).replaceAll('\u001b', '')).toMatchInlineSnapshot(`
      "NAME         PACKAGE                                                  STATUS
      filesystem   npx://@modelcontextprotocol/server-filesystem@2026.7.4   [32mrunning[39m
      time         uvx://mcp-server-time                                    [31merror[39m
      "
    `);
  });

  test.each([78, 60, 40, 30])('fits into %i columns', (columns) => {
    const lines = stripVTControlCharacters(formatTable(header, rows, columns)).split('\n');

    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines[1]).toContain('running');
  });

  test('keeps the end of a colour when it cuts what is coloured', () => {
    const table = formatTable(['A'], [['\u001b[31ma long word\u001b[39m']], 7);

    expect(table).toBe('A\n\u001b[31ma long…\u001b[39m\n');
  });

  test('says something of every column, however narrow the terminal is', () => {
    expect(formatTable(header, rows, 5)).toContain('files…   npx:/…   ');
  });
});

test('steps that only count on are told now and then where lines stay, and all others at once', () => {
  let nowMs = 0;
  const isNews = newsOf(() => nowMs);
  const told = (step: string, afterMs = 100): boolean => {
    nowMs += afterMs;
    return isNews(step);
  };

  expect(told('installing a')).toBe(true);
  expect(told('downloaded 1 packages')).toBe(true);
  expect(told('downloaded 2 packages')).toBe(false);
  expect(told('downloaded 30 packages', 2_000)).toBe(true);
  expect(told('downloaded 31 packages')).toBe(false);
  expect(told('removing server-1')).toBe(true);
  expect(told('removing server-2')).toBe(true);
});
