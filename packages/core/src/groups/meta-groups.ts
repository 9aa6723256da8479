import { defaultGroup, metaServerName } from '@toolhive/contract/names';
import type { Workloads } from '../workloads/workloads.ts';
import type { Groups } from './groups.ts';

/** Returns the groups whose clients get only the meta server: the switch is on, and a meta server exists. */
export function groupsWithMeta({
  groups,
  workloads,
}: {
  groups: Groups;
  workloads: Workloads;
}): ReadonlySet<string> {
  const served = new Set(
    workloads
      .all()
      .flatMap(({ runConfig, isBeingRemoved }) =>
        runConfig.built_in === metaServerName && !isBeingRemoved
          ? [groups.currentName(runConfig.group ?? defaultGroup)]
          : [],
      ),
  );
  return new Set(groups.all().flatMap(({ name, meta }) => (meta && served.has(name) ? [name] : [])));
}
