import type { WorkloadStatus } from '@toolhive/contract/workload';
import type { StoredStatus } from '@toolhive/state/statuses';
import type { RunEvent } from './run-loop.ts';

/** A workload's condition, with the data that exists only in that condition. */
export type WorkloadState = InactiveState | ActiveState;

/** The user does not want the workload to run. */
interface InactiveState {
  status: InactiveStatus;
  context?: string | undefined;
}

/** The workload should run. After a start of the daemon, its run loop may not have begun yet. */
export interface ActiveState {
  status: Exclude<WorkloadStatus, InactiveStatus>;
  context?: string | undefined;
  /** Whether clients may rely on the workload: it has answered, and ToolHive has not given up since. */
  isOffered: boolean;
  /** Why the last attempt failed. Undefined after a start by the user and while the workload runs. */
  lastFailure?: string | undefined;
}

const inactiveStatuses = ['stopped', 'stopping', 'removing'] as const;
type InactiveStatus = (typeof inactiveStatuses)[number];

/** The workload status in API responses. */
export interface Condition {
  status: WorkloadStatus;
  context?: string | undefined;
  createdAt: string;
  /** Whether the workload has answered with its current run config. */
  hasWorked?: boolean | undefined;
}

/** The state that the last daemon left on disk. */
export function restoredState({ status, context, hasWorked }: Condition): WorkloadState {
  return isInactiveStatus(status)
    ? { status, context }
    : { status, context, isOffered: hasWorked === true || isWorking(status) };
}

/** The state after an event of the run loop. A workload that was given up is not offered any more. */
export function stateAfter(
  event: RunEvent,
  { isOffered, lastFailure }: Pick<ActiveState, 'isOffered' | 'lastFailure'>,
  context: string | undefined,
): ActiveState {
  if (event.kind === 'running') return { status: 'running', context, isOffered: true };
  if (event.kind === 'starting') return { status: 'starting', context, isOffered, lastFailure };
  const isRetried = event.retryInMs !== undefined;
  return { status: 'error', context, isOffered: isOffered && isRetried, lastFailure: event.failure.reason };
}

/** The text beside the status. While a server starts again, it tells why that is necessary. */
export function contextOf(state: WorkloadState): string | undefined {
  if (state.status !== 'starting' || state.lastFailure === undefined) return state.context;
  return `${state.context ?? 'starting again'} (the last attempt failed: ${state.lastFailure})`;
}

export function isActive(state: WorkloadState): state is ActiveState {
  return !isInactiveStatus(state.status);
}

/** Whether a workload with this status has answered. */
export function isWorking(status: WorkloadStatus): boolean {
  return status === 'running' || status === 'unhealthy';
}

/** A condition in its file format. */
export function storedStatus({ status, context, createdAt, hasWorked }: Condition): StoredStatus {
  return {
    status,
    ...(context === undefined ? {} : { status_context: context }),
    created_at: createdAt,
    updated_at: new Date().toISOString(),
    ...(hasWorked === true ? { has_worked: true } : {}),
  };
}

function isInactiveStatus(status: WorkloadStatus): status is InactiveStatus {
  return (inactiveStatuses as readonly WorkloadStatus[]).includes(status);
}
