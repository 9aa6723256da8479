import { pageKinds, sumOf, weigh } from './weight.ts';
import { atMost, kilobytes, type Section } from '../../../bench/tables.ts';
import type { ServedSite } from './served.ts';

/** What is sent for a page of each kind. */
export async function weights(site: ServedSite): Promise<Section> {
  const rows: Section['rows'][number][] = [];
  for (const { name, path, budget } of pageKinds) {
    await using reader = await site.newReader();
    const { total, script, ahead } = sumOf(await weigh(await reader.newPage(), path));
    rows.push([
      name,
      atMost(total, budget.total, kilobytes),
      atMost(script, budget.script, kilobytes),
      kilobytes(ahead),
    ]);
  }
  return {
    title: 'Bytes as they are sent, with headers and Brotli, to a browser that has nothing yet',
    head: ['Page', 'Everything', 'Its script', 'Ahead, for pages linked to'],
    rows,
  };
}
