import { defaultGroup } from '@toolhive/contract/names';
import type { ReachableProxy } from '@toolhive/proxy/proxy-client';
import { isAuthenticated } from '@toolhive/access/workload-access';
import type { StateWing } from '../wings/state.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';

/** A running server whose tools a meta server finds. */
export interface Member {
  name: string;
  group: string;
  /** The proxy in front of the server. A changed proxy is another object. */
  proxy: ReachableProxy;
  /** Callers need credentials, so each of them may see other tools. */
  isAuthenticated: boolean;
  /** Why the meta server cannot pass calls to the server. Absent if it can. */
  refusal?: string;
}

/** A change of members, or of the tools of one or all of them. */
export type MemberChange = { kind: 'members' } | { kind: 'tools'; name: string } | { kind: 'everything' };

/** The servers that a meta server searches. */
export interface Members {
  current(): readonly Member[];
  /** The names of all servers, running or not. */
  names(): readonly string[];
  /** Yields each change until the signal aborts. */
  changes(signal: AbortSignal): AsyncIterable<MemberChange>;
}

/** The running workloads of groups, without meta servers. `*` selects all groups. */
export function membersOf(
  { workloads, events }: StateWing & WorkloadsWing,
  groups: () => readonly string[],
): Members {
  const all = () => {
    const asked = groups();
    return workloads.all().filter(({ runConfig: { group = defaultGroup, built_in: builtIn } }) => {
      return builtIn === undefined && (asked.includes('*') || asked.includes(group));
    });
  };
  return {
    current: () =>
      all().flatMap(({ runConfig, live, condition }) => {
        const { name, group = defaultGroup } = runConfig;
        if (live.proxy === undefined || condition.status !== 'running') return [];
        return [{ name, group, proxy: live.proxy, isAuthenticated: isAuthenticated(runConfig) }];
      }),
    names: () =>
      all()
        .map(({ runConfig }) => runConfig.name)
        .toSorted(),
    async *changes(signal) {
      for await (const { event } of events.watch(undefined, signal)) {
        if (event.type === 'workload.progress' || event.type === 'network.denied') continue;
        if (event.type === 'reset') yield { kind: 'everything' };
        else if (event.type === 'pins.changed' || event.type === 'workload.changed')
          yield { kind: 'tools', name: event.name };
        else yield { kind: 'members' };
      }
    },
  };
}
