import { describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';
import { withoutMargin } from './margin.ts';

const imagesOf = async (text: string): Promise<unknown[]> =>
  (await previewImport(text)).servers.map(({ request }) => request?.image);

const lines = [
  '{',
  '  "mcpServers": {',
  '    "fetch": {',
  '      "command": "uvx",',
  '      "args": ["mcp-server-fetch"]',
  '    }',
  '  }',
  '}',
];
const toml = ['[mcp_servers.fetch]', 'command = "uvx"', 'args = ["mcp-server-fetch"]'];
const yaml = ['mcpServers:', '  fetch:', '    command: uvx', '    args: [mcp-server-fetch]'];
const marked = (all: string[], mark: (line: string, number: number) => string): string =>
  all.map((line, index) => mark(line, index + 1)).join('\n');

describe('a configuration', () => {
  test.each<[string, string]>([
    ['numbers', marked(lines, (line, number) => `${number} ${line}`)],
    ['numbers from the middle of a file', marked(lines, (line, number) => `${number + 95} ${line}`)],
    ['numbers of cat', marked(lines, (line, number) => `${String(number).padStart(6)}\t${line}`)],
    ['numbers and bars', marked(lines, (line, number) => ` ${number} | ${line}`)],
    ['numbers and colons', marked(lines, (line, number) => `${number}: ${line}`)],
    ['numbers on lines of their own', marked(lines, (line, number) => `${number}\n${line}`)],
    ['numbers in TOML', marked(toml, (line, number) => `${number} ${line}`)],
    ['numbers in YAML', marked(yaml, (line, number) => `${number}  ${line}`)],
    ['the marks of a diff', marked(lines, (line) => `+${line}`)],
    ['the marks of a diff and blanks', marked(lines, (line) => `+ ${line}`)],
    ['the marks of a diff in TOML', marked(toml, (line) => `+${line}`)],
    ['the marks of a diff in YAML', marked(yaml, (line) => `+${line}`)],
    [
      'the marks of a diff in fences',
      `Add this:\n\n\`\`\`diff\n${marked(lines, (line) => `+${line}`)}\n\`\`\``,
    ],
  ])('may have %s in front of its lines', async (_what, text) => {
    expect(await imagesOf(text)).toEqual(['uvx://mcp-server-fetch']);
  });

  test('may be a diff, which counts after its change', async () => {
    const text = `diff --git a/.mcp.json b/.mcp.json
index 1a2b3c4..5d6e7f8 100644
--- a/.mcp.json
+++ b/.mcp.json
@@ -1,9 +1,9 @@
 {
   "mcpServers": {
-    "old": { "command": "uvx", "args": ["mcp-server-old"] },
+    "fetch": { "command": "uvx", "args": ["mcp-server-fetch"] },
     "time": { "command": "uvx", "args": ["mcp-server-time"] }
   }
 }
\\ No newline at end of file`;

    expect(await imagesOf(text)).toEqual(['uvx://mcp-server-fetch', 'uvx://mcp-server-time']);
  });

  test('may be a diff of a page without blanks', async () => {
    const text = `{
  "mcpServers": {
-    "old": { "command": "uvx", "args": ["mcp-server-old"] },
+    "fetch": { "command": "uvx", "args": ["mcp-server-fetch"] }
  }
}`;

    expect(await imagesOf(text)).toEqual(['uvx://mcp-server-fetch']);
  });

  test('may have its commands numbered', async () => {
    expect(await imagesOf('1  npx -y a-mcp\n2  npx -y b-mcp')).toEqual(['npx://a-mcp', 'npx://b-mcp']);
  });
});

test.each([
  ['a list in YAML', '- name: a\n- name: b'],
  ['numbers that do not count', '1 {\n3 }'],
  ['a mapping with numbers as keys', '1: a\n2: b'],
  ['a list of numbers', '[\n1,\n2\n]'],
  ['one line', '1 npx -y a-mcp'],
])('%s stays as written', (_what, text) => {
  expect(withoutMargin(text)).toBe(text);
});

/** With steps that grow with the square of the length, these texts would take minutes. */
test.each(['1', '1 ', '1\n', '+', '+\n', ' \n', '@@ -1\n', '\t', '1 |\n'])(
  'a long text of %j is read',
  { timeout: 60_000 },
  (part) => {
    expect(withoutMargin(`x\n${part.repeat(500_000 / part.length)}`)).toMatch(/^x/);
  },
);
