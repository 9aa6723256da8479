import { createHash, randomUUID } from 'node:crypto';
import * as z from 'zod';

/**
 * The identity of a workload, which no other workload ever has. All stored trust belongs to an ID, because a name can be
 * used again after a removal.
 */
export const WorkloadId = z.uuid().brand('WorkloadId');
export type WorkloadId = z.infer<typeof WorkloadId>;

export function newWorkloadId(): WorkloadId {
  return WorkloadId.parse(randomUUID());
}

/**
 * The ID of a workload from a version without IDs, which stored everything by name. Always the same for a name, so that
 * an interrupted upgrade can be repeated. No new workload gets such an ID.
 */
export function adoptedWorkloadId(name: string): WorkloadId {
  const hash = createHash('sha256').update(`toolhive workload\0${name}`).digest('hex');
  return WorkloadId.parse(hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5'));
}
