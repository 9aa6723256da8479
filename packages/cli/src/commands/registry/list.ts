import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { countOf, describe, listEntries, nameOf, typeOf } from './entries.ts';

/** Lists the servers of the registry. */
export async function run(call: CommandCall): Promise<void> {
  const { out } = call;
  const { entries } = await listEntries(call);
  out.result(entries, (page) => {
    if (entries.length === 0) return page.line('The registry has no servers.');
    page.table(
      ['NAME', 'TYPE', 'DESCRIPTION', 'TIER', 'STARS', 'PULLS'],
      entries.map((entry) => [
        nameOf(entry),
        typeOf(entry),
        describe(entry),
        oneLine(entry.tier),
        countOf(entry, 'stars'),
        countOf(entry, 'pulls'),
      ]),
    );
  });
}
