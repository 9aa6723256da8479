import { createHash } from 'node:crypto';
import { preconditionFailed } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';

/** Identifies a workload's settings. Changes with each of them. */
export function revisionOf(runConfig: RunConfig): string {
  return createHash('sha256').update(JSON.stringify(runConfig)).digest('hex');
}

/**
 * Throws `precondition-failed` unless the header `If-Match` (RFC 9110, 13.1.1) names the revision of the run config, or
 * is absent.
 */
export function requireRevision(runConfig: RunConfig, ifMatch: string | undefined): void {
  if (ifMatch === undefined) return;
  const tags = ifMatch.split(',').map((tag) => tag.trim());
  if (tags.includes('*') || tags.includes(`"${revisionOf(runConfig)}"`)) return;
  throw preconditionFailed(`workload ${runConfig.name} has changed since you read it`, {
    hint: 'read it again, and apply your change to its current settings',
  });
}
