import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';

/** Lists the tools of running workloads with their token costs. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const list = await daemon.listTools({ query: { group: flags.text('group') } }, { signal });
  const { tools, listing_tokens: all, meta_listing_tokens: meta } = list;
  out.result(list, (page) => {
    if (tools.length === 0)
      return page.line('No running workload has tools. Run thv list --all to see all workloads.');
    page.table(
      ['SERVER', 'TOOL', 'TOKENS', 'DESCRIPTION'],
      tools.map((tool) => [
        tool.server,
        oneLine(tool.name, 60),
        String(tool.estimated_tokens),
        oneLine(tool.description ?? '', 80),
      ]),
    );
    page.line(`${tools.length} tools take about ${all} tokens, or about ${meta} with the meta server`);
  });
}
