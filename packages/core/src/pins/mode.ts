import type { RunConfig } from '@toolhive/contract/run-config';
import { defaultToolPinning } from '@toolhive/contract/tool-pins';
import type { ToolPinningMode } from '@toolhive/contract/tool-pins';

/** What happens when the server of a workload changes its tools. */
export function pinningModeOf({ tool_pinning: mode }: RunConfig): ToolPinningMode {
  return mode ?? defaultToolPinning;
}
