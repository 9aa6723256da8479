import type { CommandCall } from '../../command.ts';
import { isShown } from './shown.ts';

/** Lists the groups that concern people. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { groups } = await daemon.listGroups({}, { signal });
  const shown = groups.filter(isShown);
  out.result(shown, (page) =>
    page.table(
      ['NAME'],
      shown.map(({ name }) => [name]),
    ),
  );
}
