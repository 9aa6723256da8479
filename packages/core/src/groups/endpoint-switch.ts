import type { GroupEndpoint } from '@toolhive/contract/group';
import { groupEndpoints } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { createWorkload } from '../workloads/creation/create.ts';

/** The label of the servers that the switch of a group has created. */
const label = 'toolhive-group-meta';

interface Call {
  report: Progress;
  signal: AbortSignal;
}

/** Whether the switch of a group has created this server. */
export function isOfSwitch({ built_in: builtIn, container_labels: labels }: RunConfig): boolean {
  return builtIn !== undefined && labels?.[label] === 'true';
}

/**
 * Changes the endpoint of a group. The group gets the server of the endpoint unless it has one, and the server that the
 * switch has created for another endpoint is removed. If the server cannot be created, the switch stays as it was.
 */
export async function switchEndpoint(
  core: Core,
  group: string,
  endpoint: GroupEndpoint | undefined,
  call: Call,
): Promise<void> {
  const before = core.groups.require(group).endpoint;
  await core.groups.setEndpoint(group, endpoint);
  try {
    if (endpoint !== undefined) await ensureServer(core, group, endpoint, call);
    await removeServers(core, group, endpoint);
  } catch (error) {
    await core.groups.setEndpoint(group, before);
    throw error;
  }
  await core.clients.reconcile();
}

/** Creates the servers of endpoints that an earlier daemon did not get to. */
export async function ensureEndpoints(core: Core): Promise<void> {
  for (const { name, endpoint } of core.groups.all()) {
    if (endpoint === undefined) continue;
    const call = { report: () => {}, signal: new AbortController().signal };
    await ensureServer(core, name, endpoint, call).catch((error: unknown) =>
      core.log.error({ group: name, err: error }, 'server for the endpoint of a group could not be created'),
    );
  }
}

async function ensureServer(core: Core, group: string, endpoint: GroupEndpoint, call: Call): Promise<void> {
  const members = core.workloads.inGroup(group).map((name) => core.workloads.require(name));
  const server = groupEndpoints[endpoint];
  if (members.some(({ runConfig }) => runConfig.built_in === server)) return;
  const name = freeName(core, `${endpoint}-${group.replaceAll(' ', '-')}`.slice(0, 90));
  await createWorkload(core, { name, image: server, group, labels: { [label]: 'true' } }, call);
}

/** Removes the servers of all other endpoints. */
async function removeServers(
  core: WorkloadsWing,
  group: string,
  kept: GroupEndpoint | undefined,
): Promise<void> {
  for (const name of core.workloads.inGroup(group)) {
    const { runConfig } = core.workloads.require(name);
    const isKept = kept !== undefined && runConfig.built_in === groupEndpoints[kept];
    if (isOfSwitch(runConfig) && !isKept) await core.workloads.remove(name);
  }
}

function freeName({ workloads }: WorkloadsWing, wanted: string): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (workloads.find(name) === undefined) return name;
  }
}
