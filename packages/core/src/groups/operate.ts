import { ThvError } from '@toolhive/contract/failure';
import type { Group } from '@toolhive/contract/group';
import { defaultGroup } from '@toolhive/contract/names';
import type { Core } from '../core.ts';
import type { Removal } from './groups.ts';

export function listGroups(core: Core): Group[] {
  return core.groups.all().map(describe);
}

export function getGroup(core: Core, name: string): Group {
  return describe(core.groups.require(name));
}

/**
 * Removes a group, and its workloads with it or moves them to the default one. Returns when all of that is done;
 * once it was begun, the next daemon goes on with it if this one ends.
 */
export async function deleteGroup(core: Core, name: string, removal: Removal): Promise<void> {
  await core.groups.beginRemoval(name, removal);
  try {
    await finishRemoval(core, name, removal);
  } catch (error) {
    // So that the caller can try again; if even that cannot be saved, the next start finishes the removal.
    await core.groups.abandonRemoval(name).catch(() => {});
    throw error;
  }
}

/** Goes on with removals that an earlier daemon began. */
export async function finishRemovals(core: Core): Promise<void> {
  for (const { name, removal } of core.groups.removals) await finishRemoval(core, name, removal);
}

async function finishRemoval(core: Core, group: string, removal: Removal): Promise<void> {
  // A workload that is being removed cannot be moved, and stays in the group until its removal has ended.
  const dealWith = async (workload: string): Promise<void> =>
    removal === 'delete-workloads' || core.workloads.require(workload).isBeingRemoved
      ? core.workloads.remove(workload)
      : core.workloads.regroup(workload, group, defaultGroup);
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

function describe({ name, clients }: { name: string; clients: readonly string[] }): Group {
  return { name, registered_clients: [...clients] };
}
