import type { Operation } from '../operation.ts';
import { clientOperations } from './clients.ts';
import { eventOperations } from './events.ts';
import { groupOperations } from './groups.ts';
import { registryOperations } from './registry.ts';
import { secretOperations } from './secrets.ts';
import { systemOperations } from './system.ts';
import { workloadOperations } from './workloads.ts';

/** Every operation of the API, by its operation id. */
export const operations = {
  ...systemOperations,
  ...workloadOperations,
  ...groupOperations,
  ...clientOperations,
  ...registryOperations,
  ...secretOperations,
  ...eventOperations,
} satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationId = keyof Operations;
