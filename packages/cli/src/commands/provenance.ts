import type { Provenance } from '@toolhive/contract/provenance';
import { oneLine } from '../out.ts';

/** Where a package was built, as a phrase. */
export function provenanceText({ status, repository, workflow, commit, reason }: Provenance): string {
  if (status === 'verified') {
    const at = commit === undefined ? '' : ` at ${commit.slice(0, 12)}`;
    const by = workflow === undefined ? '' : ` by ${workflow}`;
    return oneLine(`verified, built from ${repository}${at}${by}`);
  }
  return oneLine(`${status}${reason === undefined ? '' : ` (${reason})`}`);
}
