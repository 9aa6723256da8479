import { conflict } from '@toolhive/contract/failure';
import type { ChangedPermissions, LearnedRules, LearningProposal } from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Core } from '../core.ts';
import { proposalOf, requireProposed, withLearned } from '../network/learning.ts';
import { entryOf } from '../registry/server-of.ts';
import { enforcesRules } from '../permissions/network.ts';
import { changeNetwork, getPermissions } from './permissions.ts';

/**
 * Lets a server reach every public host from now on, and records each one. Has no effect on a workload that is
 * already learning.
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
  return { since, restarted };
}

/**
 * The hosts that a server has reached in learning mode, as a profile. Throws `conflict` if it is not in learning
 * mode.
 */
export function getLearning(core: Core, name: string): LearningProposal {
  return proposalFor(core, name, core.workloads.require(name).runConfig);
}

/** Ends learning mode, with rules out of the proposal or with the profile from before. */
export async function stopLearning(
  core: Core,
  name: string,
  network: LearnedRules | undefined,
): Promise<ChangedPermissions> {
  const restarted = await changeNetwork(core, name, (runConfig) => {
    const proposal = proposalFor(core, name, runConfig);
    const { learning: _, ...before } = runConfig;
    if (network === undefined) return before;
    requireProposed(network, proposal);
    return withLearned(runConfig, network);
  });
  return { permissions: getPermissions(core, name), restarted };
}

function proposalFor(core: Core, name: string, { learning, ...runConfig }: RunConfig): LearningProposal {
  if (learning === undefined) {
    throw conflict(`${name} is not in learning mode`, {
      hint: `start learning mode: thv learn ${name}`,
    });
  }
  return proposalOf(runConfig, {
    since: learning.since,
    decisions: core.decisions.list(name),
    entry: entryOf(core.registry.current, runConfig.image),
    limits: core.workloads.require(name).limits,
  });
}
