import type { ListedTool } from '@toolhive/contract/capabilities';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import { client } from '../../api/client.ts';
import { capabilities, workload } from '../../api/resources.ts';
import { refresh } from '../../api/store.ts';
import { attempt, toast } from '../../ui/toasts.ts';

type ToolParts = Pick<WorkloadDetails, 'tools' | 'tools_override'>;

/** Saves changed tools and restarts the workload. Returns whether that succeeded. */
export function changeTools(
  name: string,
  edit: (details: WorkloadDetails) => Partial<ToolParts>,
): Promise<boolean> {
  return attempt('Cannot change the tools', async () => {
    const details = await client.getWorkload({ params: { name } });
    await client.editWorkload({
      params: { name },
      headers: { 'if-match': `"${details.revision}"` },
      body: { ...details, ...edit(details) },
    });
    refresh(workload(name).key);
    refresh(capabilities(name).key);
    toast('Saved. The server restarts.');
  });
}

/** Shows and hides tools. `wanted` has the tools that change, by their names for clients. */
export function withShown(
  tools: readonly ListedTool[],
  wanted: ReadonlyMap<string, boolean>,
): Partial<ToolParts> {
  const shown = shownWith(tools, wanted);
  return { tools: shown.length === tools.length ? null : shown.map(({ name }) => name) };
}

/** Whether clients would get no tool. That cannot be saved, because an empty list means all tools. */
export function hidesAll(tools: readonly ListedTool[], wanted: ReadonlyMap<string, boolean>): boolean {
  return shownWith(tools, wanted).length === 0;
}

function shownWith(
  tools: readonly ListedTool[],
  wanted: ReadonlyMap<string, boolean>,
): readonly ListedTool[] {
  return tools.filter(({ name, is_shown: isShown }) => wanted.get(name) ?? isShown);
}

/** Gives a tool another name and description, or with `undefined` the server's own. */
export function withOverride(
  { tools_override: overrides, tools }: ToolParts,
  tool: ListedTool,
  next: { name?: string; description?: string } | undefined,
): Partial<ToolParts> {
  const others = Object.entries(overrides ?? {}).filter(([key]) => key !== tool.original_name);
  const seen = next?.name ?? tool.original_name;
  return {
    tools_override: Object.fromEntries(next === undefined ? others : [...others, [tool.original_name, next]]),
    // The filter contains the names that clients see.
    tools: tools?.map((each) => (each === tool.name ? seen : each)) ?? null,
  };
}
