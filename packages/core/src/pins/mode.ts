import type { RunConfig } from '@toolhive/contract/run-config';
import { defaultToolPinning } from '@toolhive/contract/tool-pins';
import type { ToolPinningMode } from '@toolhive/contract/tool-pins';

/** What happens when the server of a workload changes its tools. What a built-in server offers of others is pinned there. */
export function pinningModeOf({ tool_pinning: mode, built_in: server }: RunConfig): ToolPinningMode {
  return server === undefined ? (mode ?? defaultToolPinning) : 'off';
}
