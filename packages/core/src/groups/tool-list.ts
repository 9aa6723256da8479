import { defaultGroup } from '@toolhive/contract/names';
import { printable } from '@toolhive/contract/printable';
import type { ToolList } from '@toolhive/contract/tool-list';
import type { Core } from '../core.ts';
import { getCapabilities } from '../workloads/capabilities.ts';

const maxDescription = 200;

/**
 * Lists the tools that clients of running workloads see, of one group or of all. `metaTokens` is the cost of the tools of
 * the meta server. Throws `not-found` for an unknown group.
 */
export async function listToolCosts(
  core: Core,
  { group, isVisible }: { group: string | undefined; isVisible: (workload: string) => boolean },
  metaTokens: number,
): Promise<ToolList> {
  if (group !== undefined) core.groups.require(group);
  const running = core.workloads
    .all()
    .filter(
      ({ runConfig, condition }) =>
        runConfig.built_in === undefined &&
        condition.status === 'running' &&
        (group === undefined || (runConfig.group ?? defaultGroup) === group) &&
        isVisible(runConfig.name),
    );
  const listed = await Promise.all(
    running.map(async ({ runConfig: { name, group: own = defaultGroup } }) => {
      const { tools } = await getCapabilities(core, name, {});
      return tools
        .filter((tool) => tool.is_shown)
        .map((tool) => ({
          server: name,
          group: own,
          name: tool.name,
          ...(tool.description === undefined ? {} : { description: firstLine(tool.description) }),
          estimated_tokens: tool.estimated_tokens,
        }));
    }),
  );
  const tools = listed.flat();
  return {
    tools,
    listing_tokens: tools.reduce((sum, tool) => sum + tool.estimated_tokens, 0),
    meta_listing_tokens: metaTokens,
  };
}

function firstLine(description: string): string {
  const [line = ''] = printable(description).trim().split('\n', 1);
  return line.slice(0, maxDescription);
}
