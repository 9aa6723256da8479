import { ThvError, invalid } from '@toolhive/contract/failure';
import type { CreateGroup, EditGroup, Group, GroupEndpoint } from '@toolhive/contract/group';
import { defaultGroup } from '@toolhive/contract/names';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Core } from '../core.ts';
import type { StateWing } from '../wings/state.ts';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { ClientsWing } from '../wings/clients.ts';
import type { KnownGroup, Removal } from './groups.ts';
import { isOfSwitch, switchEndpoint } from './endpoint-switch.ts';
import { printable } from '@toolhive/contract/printable';
import type { ToolList } from '@toolhive/contract/tool-list';
import { getCapabilities } from '../capabilities/operate.ts';

export { isOfSwitch };

export function listGroups(core: WorkloadsWing): Group[] {
  return core.groups.all().map(describe);
}

export function getGroup(core: WorkloadsWing, name: string): Group {
  return describe(core.groups.require(name));
}

/**
 * Removes a group, and removes its workloads or moves them to the default group. Returns when everything is complete.
 * The next daemon completes an interrupted removal.
 */
export async function deleteGroup(
  core: WorkloadsWing & ClientsWing,
  name: string,
  removal: Removal,
): Promise<void> {
  await core.groups.beginRemoval(name, removal);
  try {
    await finishRemoval(core, name, removal);
  } catch (error) {
    // So that the caller can try again. If this cannot be saved either, the next start completes the removal.
    await core.groups.abandonRemoval(name).catch(() => {});
    throw error;
  }
}

/** Creates a group. With an endpoint, its clients get only the server of the endpoint, which is created too. */
export async function createGroup(
  core: Core,
  { name, description, meta, endpoint: asked, tools = [] }: CreateGroup,
  call: { report: Progress; signal: AbortSignal },
): Promise<void> {
  const endpoint = endpointOf({ meta, endpoint: asked });
  await core.groups.create(name, description);
  if (tools.length > 0) await core.groups.setTools(name, tools);
  if (endpoint === undefined || endpoint === 'none') return;
  await switchEndpoint(core, name, endpoint, call).catch(async (error: unknown) => {
    await deleteGroup(core, name, 'move-workloads');
    throw error;
  });
}

/** Reads the endpoint in a request, in the present or the earlier form. Throws `invalid` if they disagree. */
function endpointOf(
  { meta, endpoint }: Pick<EditGroup, 'meta' | 'endpoint'>,
  current?: GroupEndpoint,
): EditGroup['endpoint'] {
  if (meta === undefined) return endpoint;
  // Without the meta server, a group can have the other endpoint.
  if (!meta && endpoint === undefined) return current === 'combined' ? undefined : 'none';
  if (endpoint === undefined || meta === (endpoint === 'meta')) return endpoint ?? 'meta';
  throw invalid(`meta is ${meta}, but the endpoint is ${endpoint}`, { hint: 'set only the endpoint' });
}

/** Changes the description, the endpoint, or the name of a group. Its workloads continue to run, and clients stay registered. */
export async function editGroup(
  core: Core,
  name: string,
  { name: to, description, meta, endpoint: asked, tools }: EditGroup,
  call: { report: Progress; signal: AbortSignal },
): Promise<Group> {
  const { endpoint: current } = core.groups.require(name);
  const endpoint = endpointOf({ meta, endpoint: asked }, current);
  if (description !== undefined) await core.groups.describe(name, description);
  if (tools !== undefined) await core.groups.setTools(name, tools);
  if (endpoint !== undefined)
    await switchEndpoint(core, name, endpoint === 'none' ? undefined : endpoint, call);
  if (to === undefined || to === name) return getGroup(core, name);
  await core.groups.beginRename(name, to);
  try {
    await finishRemoval(core, name, 'move-workloads');
  } catch (error) {
    await core.groups.abandonRemoval(name).catch(() => {}); // the next start completes the removal
    throw error;
  }
  return getGroup(core, to);
}

/** Continues an earlier daemon's removals. */
export async function finishRemovals(core: WorkloadsWing & ClientsWing): Promise<void> {
  for (const { name, removal } of core.groups.removals) await finishRemoval(core, name, removal);
}

async function finishRemoval(
  core: WorkloadsWing & ClientsWing,
  group: string,
  removal: Removal,
): Promise<void> {
  const current = core.groups.currentName(group);
  const destination = current === group ? defaultGroup : current;
  const isLeftover = (workload: string): boolean =>
    current === group && isOfSwitch(core.workloads.require(workload).runConfig);
  // A workload that is being removed cannot be moved, and stays in the group until its removal has ended.
  const dealWith = async (workload: string): Promise<void> =>
    removal === 'delete-workloads' || core.workloads.require(workload).isBeingRemoved || isLeftover(workload)
      ? core.workloads.remove(workload)
      : core.workloads.regroup(workload, group, destination);
  // A move that began before the removal may end only now.
  for (let names = core.workloads.inGroup(group); names.length > 0; names = core.workloads.inGroup(group)) {
    await Promise.all(names.map((name) => dealWith(name).catch(unlessGone)));
  }
  await core.groups.finishRemoval(group);
  await core.clients.reconcile();
}

function unlessGone(error: unknown): void {
  if (error instanceof ThvError && error.kind === 'not-found') return;
  throw error;
}

function describe({ name, description, clients, endpoint, tools }: KnownGroup): Group {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    registered_clients: [...clients],
    ...(endpoint === 'meta' ? { meta: true } : {}),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(tools === undefined ? {} : { tools: [...tools] }),
  };
}

const maxDescription = 200;

/**
 * Lists the tools that clients of running workloads see, of one group or of all. `metaTokens` is the cost of the tools of
 * the meta server. Throws `not-found` for an unknown group.
 */
export async function listToolCosts(
  core: StateWing & GovernanceWing & WorkloadsWing,
  { group, isVisible }: { group: string | undefined; isVisible: (workload: string) => boolean },
  metaTokens: number,
): Promise<ToolList> {
  if (group !== undefined) core.groups.require(group);
  const running = core.workloads
    .all()
    .filter(
      ({ runConfig, condition }) =>
        runConfig.built_in === undefined &&
        condition.status === 'running' &&
        (group === undefined || (runConfig.group ?? defaultGroup) === group) &&
        isVisible(runConfig.name),
    );
  const listed = await Promise.all(
    running.map(async ({ runConfig: { name, group: own = defaultGroup } }) => {
      const { tools } = await getCapabilities(core, name, {});
      return tools
        .filter((tool) => tool.is_shown)
        .map((tool) => ({
          server: name,
          group: own,
          name: tool.name,
          ...(tool.description === undefined ? {} : { description: firstLine(tool.description) }),
          estimated_tokens: tool.estimated_tokens,
        }));
    }),
  );
  const tools = listed.flat();
  return {
    tools,
    listing_tokens: tools.reduce((sum, tool) => sum + tool.estimated_tokens, 0),
    meta_listing_tokens: metaTokens,
  };
}

function firstLine(description: string): string {
  const [line = ''] = printable(description).trim().split('\n', 1);
  return line.slice(0, maxDescription);
}
