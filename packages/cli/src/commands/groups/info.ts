import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';

/** Shows a group, and how many tokens its tools take with and without the meta server. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const group = await daemon.getGroup({ params: { name } }, { signal });
  const { workloads } = await daemon.listWorkloads({ query: { all: 'true', group: name } }, { signal });
  const { tools, listing_tokens, meta_listing_tokens } = await daemon.listTools(
    { query: { group: name } },
    { signal },
  );
  const names = workloads.map((workload) => workload.name);
  const isOn = group.meta === true;
  out.result(
    {
      ...group,
      meta: isOn,
      ...(group.tools === undefined ? {} : { chosen_tools: group.tools }),
      workloads: names,
      tools: tools.length,
      listing_tokens,
      meta_listing_tokens,
    },
    (page) => {
      page.line(`Name: ${group.name}`);
      if (group.description !== undefined) page.line(`Description: ${group.description}`);
      page.line(`Workloads: ${names.join(', ') || 'none'}`);
      page.line(`Clients: ${group.registered_clients.join(', ') || 'none'}`);
      page.line(`Meta server: ${isOn ? 'on' : 'off'}`);
      if (group.endpoint !== undefined) page.line(`Only endpoint of clients: ${group.endpoint}`);
      if (group.tools !== undefined) page.line(`Chosen tools: ${group.tools.map(printable).join(', ')}`);
      page.line(`Tools of running workloads: ${tools.length}`);
      page.line(`Tokens of the tool list: about ${listing_tokens}`);
      page.line(`Tokens with the meta server: about ${meta_listing_tokens}`);
    },
  );
}
