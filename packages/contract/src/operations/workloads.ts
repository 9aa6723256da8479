import * as z from 'zod';
import { operation } from '../operation.ts';
import { GroupName, WorkloadName } from '../schemas/names.ts';
import {
  CreateWorkload,
  CreatedWorkload,
  Workload,
  WorkloadDetails,
  WorkloadStatus,
} from '../schemas/workload.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) });

/** True for exactly `true`, as the original reads it. */
const QueryFlag = z.string().transform((text) => text === 'true');

const WorkloadList = z
  .object({ workloads: z.array(Workload) })
  .meta({ id: 'WorkloadList', description: 'Workloads, sorted by name.' });

const StatusOfWorkload = z
  .object({
    status: WorkloadStatus,
    status_context: z
      .string()
      .optional()
      .meta({ description: 'Why the status is what it is, for a person.' }),
  })
  .meta({ id: 'StatusOfWorkload' });

export const workloadOperations = {
  listWorkloads: operation({
    method: 'GET',
    path: '/workloads',
    tag: 'workloads',
    summary: 'List workloads',
    query: z.object({
      all: QueryFlag.optional().meta({ description: '`true` lists those that do not run, too.' }),
      group: GroupName.optional().meta({ description: 'Only workloads of this group.' }),
    }),
    success: { status: 200, description: 'The workloads.', body: WorkloadList },
    failures: ['invalid'],
  }),
  createWorkload: operation({
    method: 'POST',
    path: '/workloads',
    tag: 'workloads',
    summary: 'Create and start a workload',
    description:
      'Gets the server ready (pull or install) before it answers, so that a source that does not exist is refused and leaves nothing behind. The status tells how the start went.',
    body: CreateWorkload,
    success: { status: 201, description: 'Created, and starting.', body: CreatedWorkload },
    progress: true,
    failures: ['invalid', 'not-found', 'conflict', 'unavailable', 'not-implemented'],
  }),
  getWorkload: operation({
    method: 'GET',
    path: '/workloads/{name}',
    tag: 'workloads',
    summary: 'Describe a workload',
    params: byName,
    success: { status: 200, description: 'The workload and what it was asked for.', body: WorkloadDetails },
    failures: ['invalid', 'not-found'],
  }),
  getWorkloadStatus: operation({
    method: 'GET',
    path: '/workloads/{name}/status',
    tag: 'workloads',
    summary: 'Tell the status of a workload',
    params: byName,
    success: { status: 200, description: 'The status.', body: StatusOfWorkload },
    failures: ['invalid', 'not-found'],
  }),
  getWorkloadLogs: operation({
    method: 'GET',
    path: '/workloads/{name}/logs',
    tag: 'logs',
    summary: 'Read what a server wrote',
    params: byName,
    query: z.object({
      tail: z.coerce
        .number()
        .int()
        .min(0)
        .max(10_000)
        .default(100)
        .meta({ description: 'At most so many lines, counted from the end.' }),
    }),
    success: { status: 200, description: 'The last lines.', body: 'text' },
    failures: ['invalid', 'not-found'],
  }),
  stopWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/stop',
    tag: 'workloads',
    summary: 'Stop a workload',
    params: byName,
    success: { status: 202, description: 'Accepted; the status tells the rest.' },
    progress: true,
    failures: ['invalid', 'not-found'],
  }),
  restartWorkload: operation({
    method: 'POST',
    path: '/workloads/{name}/restart',
    tag: 'workloads',
    summary: 'Start a workload that does not run',
    description: 'A workload that runs and is well is left alone.',
    params: byName,
    success: { status: 202, description: 'Accepted; the status tells the rest.' },
    progress: true,
    failures: ['invalid', 'not-found'],
  }),
  deleteWorkload: operation({
    method: 'DELETE',
    path: '/workloads/{name}',
    tag: 'workloads',
    summary: 'Stop a workload and remove all of it',
    params: byName,
    success: { status: 202, description: 'Accepted; the workload is gone when the list no longer has it.' },
    progress: true,
    failures: ['invalid', 'not-found'],
  }),
};
