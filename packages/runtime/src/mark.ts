import { createHash } from 'node:crypto';

/** A few characters that identify a daemon in names that the whole machine shares. No mark is a prefix of another. */
export function markOf(daemonId: string): string {
  return createHash('sha256').update(daemonId).digest('hex').slice(0, 8);
}
