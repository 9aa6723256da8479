import { metaServerName } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { createWorkload } from '../workloads/creation/create.ts';

/** The label of meta servers that the switch of a group has created. */
const label = 'toolhive-group-meta';

interface Call {
  report: Progress;
  signal: AbortSignal;
}

/** Whether the switch of a group has created this meta server. */
export function isOfSwitch({ built_in: builtIn, container_labels: labels }: RunConfig): boolean {
  return builtIn === metaServerName && labels?.[label] === 'true';
}

/**
 * Turns the switch of a group on or off. On, the group gets a meta server unless it has one. Off, the meta server that the
 * switch has created is removed. If the meta server cannot be created, the switch stays as it was.
 */
export async function switchMeta(core: Core, group: string, isOn: boolean, call: Call): Promise<void> {
  const before = core.groups.require(group).meta;
  await core.groups.setMeta(group, isOn);
  try {
    if (isOn) await ensureMetaServer(core, group, call);
    else await removeMetaServers(core, group);
  } catch (error) {
    await core.groups.setMeta(group, before);
    throw error;
  }
  await core.clients.reconcile();
}

/** Creates the meta servers that an earlier daemon did not get to. */
export async function ensureMetaServers(core: Core): Promise<void> {
  for (const { name, meta } of core.groups.all()) {
    if (!meta) continue;
    const call = { report: () => {}, signal: new AbortController().signal };
    await ensureMetaServer(core, name, call).catch((error: unknown) =>
      core.log.error({ group: name, err: error }, 'meta server of a group could not be created'),
    );
  }
}

async function ensureMetaServer(core: Core, group: string, call: Call): Promise<void> {
  const members = core.workloads.inGroup(group).map((name) => core.workloads.require(name));
  if (members.some(({ runConfig }) => runConfig.built_in === metaServerName)) return;
  const name = freeName(core, `meta-${group.replaceAll(' ', '-')}`.slice(0, 90));
  await createWorkload(core, { name, image: metaServerName, group, labels: { [label]: 'true' } }, call);
}

async function removeMetaServers(core: WorkloadsWing, group: string): Promise<void> {
  for (const name of core.workloads.inGroup(group))
    if (isOfSwitch(core.workloads.require(name).runConfig)) await core.workloads.remove(name);
}

function freeName({ workloads }: WorkloadsWing, wanted: string): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`;
    if (workloads.find(name) === undefined) return name;
  }
}
