import { defaultGroup } from '@toolhive/contract/names';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';
import { isAuthenticated } from '../access/workload-access.ts';
import type { Core } from '../core.ts';

/** A running workload whose tools a meta server finds. */
export interface Member {
  name: string;
  group: string;
  proxy: WorkloadProxy;
  /** Callers need credentials, so each of them may see other tools. */
  isAuthenticated: boolean;
}

/** Returns the running workloads of groups by name, without meta servers. `*` stands for all groups. */
export function membersOf({ workloads }: Core, groups: readonly string[]): Member[] {
  return workloads.all().flatMap(({ runConfig, live, condition }) => {
    const { name, group = defaultGroup, built_in: builtIn } = runConfig;
    const isMember = builtIn === undefined && (groups.includes('*') || groups.includes(group));
    if (!isMember || live.proxy === undefined || condition.status !== 'running') return [];
    return [{ name, group, proxy: live.proxy, isAuthenticated: isAuthenticated(runConfig) }];
  });
}
