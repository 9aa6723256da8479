import { createHash } from 'node:crypto';

/** A few characters that stand for a hive in names which the whole machine shares; no one is the beginning of another. */
export function markOf(hiveId: string): string {
  return createHash('sha256').update(hiveId).digest('hex').slice(0, 8);
}
