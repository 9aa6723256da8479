import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { promises } from '@toolhive/testing/promises';

const pages = new URL('../apps/docs/docs/toolhive/', import.meta.url);
const read = (page: string): Promise<string> => readFile(new URL(page, pages), 'utf8');
const isKnown = (id: string | undefined): boolean => id !== undefined && Object.hasOwn(promises, id);

test('the security model names a known promise for every attack', async () => {
  const text = await read('concepts/security-model.mdx');
  const [table = ''] = /^\| Attack [^]*?\n\n/m.exec(text) ?? [];

  const named = table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) => Array.from((row.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g), ([, id]) => id));

  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((ids) => ids.length === 0 || !ids.every(isKnown))).toEqual([]);
});

test.each([
  '../../../../README.md',
  'faq.mdx',
  'concepts/security-model.mdx',
  'guides-cli/network-isolation.mdx',
])('says where network rules are enforced as all other pages do: %s', async (page) => {
  const text = (await read(page)).replaceAll(/\s+/g, ' ');

  expect(text).toContain('ToolHive enforces network rules in the sandbox and in every container engine.');
  expect(text).not.toMatch(/certain conditions|same Linux machine only/);
});

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
