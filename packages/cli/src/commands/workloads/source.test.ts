import { expect, test } from 'vitest';
import { sourceOf } from './source.ts';

test('the page of a repository is not run as a remote server', () => {
  expect(() => sourceOf('https://gitlab.com/group/server')).toThrow(
    'this is the page of a repository on gitlab.com, not the address of an MCP server',
  );
  expect(sourceOf('https://gitlab.com/api/v4/mcp')).toEqual({ url: 'https://gitlab.com/api/v4/mcp' });
});
