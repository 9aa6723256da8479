import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { faultsOfPage } from '../bench/judged.ts';
import { serveSite } from '../bench/served.ts';

// The performance depends on the machine, so it is a part of `npm run bench:site`.

const pages = [
  '/',
  '/toolhive/',
  '/toolhive/guides-cli/run-mcp-servers',
  '/toolhive/reference/api',
  '/search?q=secrets',
];

test('Lighthouse finds no fault in accessibility and best practices', { timeout: 400_000 }, async () => {
  await using site = await serveSite(siteFolder);
  const faults: string[] = [];

  for (const path of pages)
    faults.push(...(await faultsOfPage(site, path)).map((fault) => `${path}, ${fault}`));

  expect(faults).toEqual([]);
});
