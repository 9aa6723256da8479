import type { PinDecision, ToolPinningMode, ToolPins } from '@toolhive/contract/tool-pins';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { pinningModeOf } from './mode.ts';

/** What was recorded of the tools, prompts, resources, and instructions of a workload. */
export function getToolPins(core: GovernanceWing & WorkloadsWing, name: string): Promise<ToolPins> {
  return core.pins.of(core.workloads.require(name).id).describe();
}

/** Approves versions that wait for that, or with `dismiss` forgets them. Throws `conflict` for any other version. */
export function decidePins(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  decision: PinDecision,
  kind: 'approve' | 'dismiss',
): { decided: number; pending: number } {
  const pins = core.pins.of(core.workloads.require(name).id);
  const decided = pins[kind](decision);
  return { decided, pending: pins.pending };
}

/**
 * Changes a workload's pinning mode. Only a change from or to `off` restarts the workload, because that changes its
 * proxy.
 */
export async function changeToolPinning(
  core: WorkloadsWing,
  name: string,
  mode: ToolPinningMode,
): Promise<{ mode: ToolPinningMode; restarted: boolean }> {
  const supervisor = core.workloads.require(name);
  let before = pinningModeOf(supervisor.runConfig);
  await core.workloads.amend(name, (runConfig) => {
    before = pinningModeOf(runConfig);
    return { ...runConfig, tool_pinning: mode };
  });
  const isRunning = !['stopped', 'stopping', 'removing'].includes(supervisor.condition.status);
  const restarted = isRunning && (before === 'off') !== (mode === 'off');
  if (restarted) await supervisor.restart();
  return { mode, restarted };
}
