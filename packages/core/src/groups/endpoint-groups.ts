import { defaultGroup, groupEndpoints } from '@toolhive/contract/names';
import type { Workloads } from '../workloads/workloads.ts';
import type { Groups } from './groups.ts';

/** Returns the groups whose clients get only one endpoint: the switch is on, and the server of the endpoint exists. */
export function groupsWithEndpoint({
  groups,
  workloads,
}: {
  groups: Groups;
  workloads: Workloads;
}): ReadonlySet<string> {
  const served = new Set(
    workloads
      .all()
      .flatMap(({ runConfig: { built_in: server, group = defaultGroup }, isBeingRemoved }) =>
        server !== undefined && !isBeingRemoved ? [`${server} ${groups.currentName(group)}`] : [],
      ),
  );
  return new Set(
    groups
      .all()
      .flatMap(({ name, endpoint }) =>
        endpoint !== undefined && served.has(`${groupEndpoints[endpoint]} ${name}`) ? [name] : [],
      ),
  );
}
