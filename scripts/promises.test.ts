import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { promises } from '@toolhive/testing/promises';

const pages = new URL('../apps/docs/docs/toolhive/', import.meta.url);
const read = (page: string): Promise<string> => readFile(new URL(page, pages), 'utf8');
const isKnown = (id: string | undefined): boolean => id !== undefined && Object.hasOwn(promises, id);

test.each(['Guarantee', 'Attack'])(
  'the security model names a known promise for every row: %s',
  async (first) => {
    const text = await read('concepts/security-model.mdx');
    const [table = ''] = new RegExp(`^\\| ${first} [^]*?\\n\\n`, 'm').exec(text) ?? [];

    const named = table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) => Array.from((row.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g), ([, id]) => id));

    expect(named.length).toBeGreaterThan(8);
    expect(named.filter((ids) => ids.length === 0 || !ids.every(isKnown))).toEqual([]);
  },
);

test.each([
  'guides-cli/api-server.mdx',
  'guides-cli/authentication.mdx',
  'guides-cli/custom-permissions.mdx',
  'guides-cli/filesystem-access.mdx',
  'guides-cli/manage-mcp-servers.mdx',
  'guides-cli/network-isolation.mdx',
  'guides-cli/secrets-management.mdx',
  'guides-cli/thvignore.mdx',
  'guides-cli/verify-servers.mdx',
])('security claims refer to known promises: %s', async (page) => {
  const text = await read(page);

  const named = Array.from(text.matchAll(/promises?\s((?:`[^`]+`(?:,?\sand\s|,\s)?)+)/g), ([, list = '']) =>
    Array.from(list.matchAll(/`([^`]+)`/g), ([, id]) => id),
  ).flat();

  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((id) => !isKnown(id))).toEqual([]);
});
