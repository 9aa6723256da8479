import { combinedServerName } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import { defaultToolPinning } from '@toolhive/contract/tool-pins';
import type { ToolPinningMode } from '@toolhive/contract/tool-pins';

/** What happens when the server of a workload changes its tools. The things of a combined server are pinned where they come from. */
export function pinningModeOf({ tool_pinning: mode, built_in: server }: RunConfig): ToolPinningMode {
  return server === combinedServerName ? 'off' : (mode ?? defaultToolPinning);
}
