import { conflict } from '@toolhive/contract/failure';
import type { ChangedPermissions, LearningProposal, StopLearning } from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Core } from '../core.ts';
import { proposalOf, requireProposed, withKept, withLearned } from '../network/learning.ts';
import { entryOf } from '@toolhive/registry/server-of';
import type { MountUses } from '../permissions/mount-use.ts';
import { mountsOfRunConfig } from '../permissions/mounts.ts';
import { enforcesRules } from '../permissions/network.ts';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import { changeNetwork, getPermissions, isRunning } from './permissions.ts';

/**
 * Lets a server reach every public host from now on, and records each one, and the mounts that it uses. Has no effect
 * on a workload that is already learning.
 */
export async function startLearning(
  core: Core,
  name: string,
): Promise<{ since: string; restarted: boolean }> {
  if (!enforcesRules(core.workloads.require(name).limits)) {
    throw conflict(`the runtime of ${name} does not enforce network rules, so nothing would be recorded`, {
      hint: `run thv doctor ${name} to see the missing parts`,
    });
  }
  let since = new Date().toISOString();
  const restarted = await changeNetwork(core, name, (runConfig) => {
    since = runConfig.learning?.since ?? since;
    return { ...runConfig, learning: { since } };
  });
  const { id, runConfig, condition } = core.workloads.require(name);
  if (isRunning(condition.status))
    await core.mountUse.begin(id, since, await core.mounts.of(id, mountsOfRunConfig(runConfig)));
  return { since, restarted };
}

/**
 * What a server has used in learning mode, as a profile. Throws `conflict` if it is not in learning mode.
 */
export async function getLearning(core: Core, name: string): Promise<LearningProposal> {
  const { id, runConfig } = core.workloads.require(name);
  const { since } = requireLearning(runConfig);
  return proposalFor(core, { id, runConfig }, await core.mountUse.of(id, since));
}

/** Ends learning mode, with rules out of the proposal and some of the mounts, or with the profile from before. */
export async function stopLearning(
  core: Core,
  name: string,
  { network, mounts }: StopLearning,
): Promise<ChangedPermissions> {
  const { id } = core.workloads.require(name);
  const restarted = await changeNetwork(core, name, (runConfig) => {
    requireLearning(runConfig);
    if (network !== undefined) requireProposed(network, proposalFor(core, { id, runConfig }, {}));
    const { learning: _, ...before } = runConfig;
    const learned = network === undefined ? before : withLearned(runConfig, network);
    return mounts === undefined ? learned : withKept(learned, mounts);
  });
  await core.mountUse.forget(id);
  return { permissions: getPermissions(core, name), restarted };
}

function proposalFor(core: Core, { id, runConfig }: StoredRunConfig, mountUse: MountUses): LearningProposal {
  const { name } = runConfig;
  const { learning: _, ...others } = runConfig;
  return proposalOf(others, {
    since: requireLearning(runConfig).since,
    decisions: core.decisions.list(id),
    entry: entryOf(core.registry.current, runConfig.image),
    limits: core.workloads.require(name).limits,
    mountUse,
  });
}

function requireLearning({ name, learning }: RunConfig): NonNullable<RunConfig['learning']> {
  if (learning !== undefined) return learning;
  throw conflict(`${name} is not in learning mode`, { hint: `start learning mode: thv learn ${name}` });
}
