import type { Operation } from '../operation.ts';
import { systemOperations } from './system.ts';
import { workloadOperations } from './workloads.ts';

/** Every operation of the API, by its operation id. */
export const operations = { ...systemOperations, ...workloadOperations } satisfies Record<string, Operation>;

export type Operations = typeof operations;
export type OperationId = keyof Operations;
