import type { WorkloadUpdate } from '@toolhive/contract/update';
import { packageOf } from '../run-config/kinds.ts';
import type { Supervisor } from '../supervision/supervisor.ts';

interface Known {
  /** The package that was looked up. The workload may run another one since then. */
  package: string;
  newest: string;
}

/** What the latest lookup of each workload has found. */
const known = new WeakMap<Supervisor, Known>();

/** Remembers the answer of a lookup. Returns whether it contains a newer version that was not known. */
export function rememberUpdate(
  supervisor: Supervisor,
  { package: runs, newest, outdated }: Pick<WorkloadUpdate, 'package' | 'newest' | 'outdated'>,
): boolean {
  if (!outdated || newest === undefined) {
    known.delete(supervisor);
    return false;
  }
  const isNew = newerVersionOf(supervisor) !== newest;
  known.set(supervisor, { package: runs, newest });
  return isNew;
}

/** The newer version that the latest lookup has found, unless the workload has changed since then. */
export function newerVersionOf(supervisor: Supervisor): string | undefined {
  const found = known.get(supervisor);
  return found?.package === packageOf(supervisor.runConfig) ? found.newest : undefined;
}
