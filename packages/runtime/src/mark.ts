import { createHash } from 'node:crypto';

/** A few characters that stand for a daemon in names which the whole machine shares; no one is the beginning of another. */
export function markOf(daemonId: string): string {
  return createHash('sha256').update(daemonId).digest('hex').slice(0, 8);
}
