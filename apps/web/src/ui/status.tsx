import type { ReactNode } from 'react';
import type { WorkloadStatus } from '@toolhive/contract/workload';

const looks: Record<WorkloadStatus, { label: string; kind: 'good' | 'busy' | 'bad' | 'off' }> = {
  running: { label: 'Running', kind: 'good' },
  starting: { label: 'Starting', kind: 'busy' },
  stopping: { label: 'Stopping', kind: 'busy' },
  removing: { label: 'Removing', kind: 'busy' },
  unhealthy: { label: 'Unhealthy', kind: 'bad' },
  error: { label: 'Failed', kind: 'bad' },
  stopped: { label: 'Stopped', kind: 'off' },
  unknown: { label: 'Unknown', kind: 'off' },
};

/** A workload's status as a word and a shape, so that color is never the only sign. */
export function Status({ status }: { status: WorkloadStatus }): ReactNode {
  const { label, kind } = looks[status];
  return (
    <span className={`status ${kind}`}>
      <span aria-hidden="true" className="status-shape" />
      {label}
    </span>
  );
}
