import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { countOf, describe, listEntries, nameOf, typeOf } from './entries.ts';

/** Lists the registry entries that match a search. */
export async function run(call: CommandCall): Promise<void> {
  const {
    arguments: [query = ''],
    out,
  } = call;
  const { entries: found, total } = await listEntries(call, query);
  out.result(found, (page) => {
    if (found.length === 0) return page.line(`No server matches ${JSON.stringify(query)}.`);
    page.line(`${total === 1 ? '1 server matches' : `${total} servers match`} ${JSON.stringify(query)}:`);
    page.table(
      ['NAME', 'TYPE', 'DESCRIPTION', 'TRANSPORT', 'STARS', 'PULLS'],
      found.map((entry) => [
        nameOf(entry),
        typeOf(entry),
        describe(entry),
        oneLine(entry.transport),
        countOf(entry, 'stars'),
        countOf(entry, 'pulls'),
      ]),
    );
  });
}
