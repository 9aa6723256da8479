// @suite docs (in depth)
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { siteFolder } from '../../../scripts/build-docs.ts';
import { saveData, useBrowser } from './browse.ts';
import { pageKinds, sumOf, weigh, type Transfer } from '../bench/weight.ts';

const visit = useBrowser();

test.for(pageKinds)('$name is as light as it has to be', async ({ path, budget }) => {
  let transfers: Transfer[] = [];

  await using _visited = await visit(path, {
    async before(page) {
      await saveData(page);
      transfers = await weigh(page, path);
    },
  });

  const { total, script } = sumOf(await Promise.all(transfers.map(atItsSmallest)));
  expect(transfers.length).toBeGreaterThan(8);
  expect(script).toBeGreaterThan(50_000); // what is a page is counted
  expect([total <= budget.total || total, script <= budget.script || script]).toEqual([true, true]);
});

/** With the compression of `npm run docs:build`: tests build the site with a quicker one. */
async function atItsSmallest(transfer: Transfer): Promise<Transfer> {
  const file = await fileOf(transfer.path);
  const sent = await stat(`${file}.br`).catch(() => undefined); // a picture or a font
  if (sent === undefined) return transfer;
  return { ...transfer, bytes: transfer.bytes - sent.size + (await smallestSizeOf(file)) };
}

async function fileOf(path: string): Promise<string> {
  for (const name of [path, `${path}/index.html`]) {
    const stats = await stat(siteFolder + name).catch(() => undefined); // the other, or none
    if (stats?.isFile() === true) return siteFolder + name;
  }
  return `${siteFolder}/404.html`;
}

const sizes = new Map<string, Promise<number>>();

function smallestSizeOf(file: string): Promise<number> {
  const known = sizes.get(file);
  if (known !== undefined) return known;
  const size = readFile(file).then(async (text) => (await promisify(brotliCompress)(text)).length); // at its best by default
  sizes.set(file, size);
  return size;
}
