import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { siteFolder } from '../../../scripts/build-docs.ts';

const routes = (await readFile(new URL('routes.txt', import.meta.url), 'utf8')).trim().split('\n');

test.for(routes)('the site has a page at %s', async (route) => {
  proves('site.routes');
  const file = `${siteFolder}${route}/index.html`;

  expect(existsSync(file)).toBe(true);

  expect(await readFile(file, 'utf8')).toContain('<h1');
});

test('every page of the documentation stands beside the same column of pages', async () => {
  proves('site.routes');
  const columns = new Map<string, string[]>();
  for (const route of routes.filter((path) => path.startsWith('/toolhive'))) {
    const html = await readFile(`${siteFolder}${route}/index.html`, 'utf8');
    const first = html.match(/<li class="theme-doc-sidebar-item-\w+ theme-doc-sidebar-item-\w+-level-1 /g);
    const names = (first ?? []).join('');
    columns.set(names, [...(columns.get(names) ?? []), route]);
  }

  expect([...columns.values()].map((all) => all.length)).toEqual([
    routes.filter((path) => path.startsWith('/toolhive')).length,
  ]);
  expect([...columns.keys()][0]).not.toBe('');
});
