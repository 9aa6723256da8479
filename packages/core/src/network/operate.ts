import { isDeepStrictEqual } from 'node:util';
import { advice, fixes } from '@toolhive/contract/fixes';
import type {
  ChangedPermissions,
  NetworkDecision,
  NetworkDecisionMade,
  PermissionChange,
  Permissions,
  LearningMode,
  LearningProposal,
  StopLearning,
} from '@toolhive/contract/network';
import type { Sent } from '@toolhive/contract/operation';
import type { RunConfig } from '@toolhive/contract/run-config';
import { alwaysListening } from '@toolhive/runtime/egress';
import { conflict } from '@toolhive/contract/failure';
import type { GovernanceWing } from '../wings/governance.ts';
import type { SupplyWing } from '../wings/supply.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { checkLocalPorts, withLocalPorts } from './local-ports.ts';
import { permissionsOf, withChange } from './permissions.ts';
import { mountsOfRunConfig } from '../permissions/mounts.ts';
import { networkOf, enforcesRules } from '../permissions/network.ts';
import { warningsOf } from '../permissions/warnings.ts';
import { isRemote } from '../run-config/kinds.ts';
import { withLearningEnded } from '../run-config/learning.ts';
import { proposalOf, requireProposed, withKept, withLearned } from './learning.ts';
import { entryOf } from '@toolhive/registry/server-of';
import type { MountUses } from '../permissions/mount-use.ts';
import type { StoredRunConfig } from '@toolhive/state/run-configs';

type Verdict = NetworkDecision['verdict'];

interface DecisionQuery {
  verdict?: Verdict | undefined;
  since?: string | undefined;
  until?: string | undefined;
  search?: string | undefined;
}

/** What the egress gateway decided about a workload, the latest first. Throws `not-found`. */
export function listNetworkDecisions(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  { verdict, since, until, search }: DecisionQuery,
): NetworkDecision[] {
  const [fromMs, toMs] = [Date.parse(since ?? ''), Date.parse(until ?? '')];
  const searched = search?.toLowerCase() ?? '';
  return core.decisions
    .list(core.workloads.require(name).id, verdict)
    .filter(
      ({ first_at: first, last_at: last, host, port, rule, reason }) =>
        !(Date.parse(last) < fromMs || Date.parse(first) >= toMs) &&
        `${host}:${port ?? ''}\n${rule ?? ''}\n${reason ?? ''}`.toLowerCase().includes(searched),
    );
}

/** The same from now on, until the signal aborts. */
export function watchNetworkDecisions(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  verdict: Verdict | undefined,
  signal: AbortSignal,
): AsyncIterable<Sent<NetworkDecisionMade>> {
  return core.decisions.watch(core.workloads.require(name).id, verdict, signal);
}

/** What a workload may access. */
export function getPermissions(core: WorkloadsWing, name: string): Permissions {
  const { runConfig, limits } = core.workloads.require(name);
  return permissionsOf(runConfig, { warnings: warningsOf(runConfig, limits), limits });
}

/**
 * Changes a workload's outbound rules. The server keeps running, unless it needs a port on which its gateway does not
 * listen, or a network that it does not have.
 */
export async function changePermissions(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  change: PermissionChange,
): Promise<ChangedPermissions> {
  const { id, runConfig: before } = core.workloads.require(name);
  const { allow_local_ports: added } = change;
  if (added !== undefined) await checkLocalPorts(core, { ...before, local_ports: added });
  const restarted = await changeNetwork(core, name, (runConfig) =>
    withLocalPorts(withChange(runConfig, change, core.decisions.list(id, 'allowed')), change),
  );
  return { permissions: getPermissions(core, name), restarted };
}

/**
 * Changes a workload's network and mounts. Returns whether it was restarted, which is necessary only for another kind
 * of network, a new port, or other mounts. Throws `conflict` for a remote server.
 */
export async function changeNetwork(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  change: (runConfig: RunConfig) => RunConfig,
): Promise<boolean> {
  const supervisor = core.workloads.require(name);
  if (supervisor.runConfig.built_in !== undefined)
    throw conflict(`${name} is part of ToolHive and has no network rules`);
  if (isRemote(supervisor.runConfig)) {
    throw conflict(`${name} is a remote server, so ToolHive does not control its network`, {
      hint: 'only servers that run on this machine have network rules',
    });
  }
  let before = supervisor.runConfig;
  await core.workloads.amend(name, (runConfig) => change((before = runConfig)));
  const after = supervisor.runConfig;
  const needsRestart =
    isRunning(supervisor.condition.status) && !(appliesAtOnce(before, after) && hasSameMounts(before, after));
  // A caller that has denied a host can rely on it.
  await (needsRestart ? supervisor.restart() : core.ruleWatchers.apply(supervisor.id));
  return needsRestart;
}

/** Whether a server may be running. */
export const isRunning = (status: string): boolean => status !== 'stopped' && status !== 'removing';

const hasSameMounts = (before: RunConfig, after: RunConfig): boolean =>
  isDeepStrictEqual(mountsOfRunConfig(before), mountsOfRunConfig(after));

function appliesAtOnce(before: RunConfig, after: RunConfig): boolean {
  const [old, grant] = [networkOf(before), networkOf(after)];
  if (old.kind !== 'rules' || grant.kind !== 'rules') return old.kind === grant.kind;
  const listening = new Set([...alwaysListening, ...old.rules.ports]);
  const local = new Set(old.rules.localPorts);
  return (
    grant.rules.ports.every((port) => listening.has(port)) &&
    (grant.rules.localPorts ?? []).every((port) => local.has(port))
  );
}

/**
 * Lets a server reach every public host from now on, and records each one, and the mounts that it uses. A workload that
 * is already learning continues, with a new end if a number of seconds is given.
 */
export async function startLearning(
  core: GovernanceWing & WorkloadsWing,
  name: string,
  seconds?: number,
): Promise<LearningMode & { restarted: boolean }> {
  if (!enforcesRules(core.workloads.require(name).limits)) {
    throw conflict(
      `the runtime of ${name} does not enforce network rules, so nothing would be recorded`,
      advice(`run thv doctor ${name} to see the missing parts`, fixes.showDetails(name)),
    );
  }
  const now = Date.now();
  const end = seconds === undefined ? {} : { until: new Date(now + seconds * 1_000).toISOString() };
  let learning: LearningMode = { since: new Date(now).toISOString(), ...end };
  const restarted = await changeNetwork(core, name, (runConfig) => {
    const { learned: _, ...others } = runConfig;
    learning = { ...learning, ...runConfig.learning, ...end };
    return { ...others, learning };
  });
  const { id, runConfig, condition } = core.workloads.require(name);
  if (isRunning(condition.status))
    await core.mountUse.begin(id, learning.since, await core.mounts.of(id, mountsOfRunConfig(runConfig)));
  return { ...learning, restarted };
}

/** Ends a learning mode whose time is over. The server has its earlier access again, and the record is kept. */
export async function endLearning(
  core: GovernanceWing & WorkloadsWing,
  { id, runConfig: { name } }: Pick<StoredRunConfig, 'id' | 'runConfig'>,
  now: Date,
): Promise<void> {
  await changeNetwork(core, name, (runConfig) => withLearningEnded(runConfig, now));
  await core.mountUse.end(id);
}

/**
 * What a server has used in learning mode, as a profile. Throws `conflict` if there is no record of learning mode.
 */
export async function getLearning(
  core: GovernanceWing & SupplyWing & WorkloadsWing,
  name: string,
): Promise<LearningProposal> {
  const { id, runConfig } = core.workloads.require(name);
  const { since } = requireLearned(runConfig);
  return proposalFor(core, { id, runConfig }, await core.mountUse.of(id, since));
}

/** Ends learning mode, with rules out of the proposal and some of the mounts, or with the profile from before. */
export async function stopLearning(
  core: GovernanceWing & SupplyWing & WorkloadsWing,
  name: string,
  { network, mounts }: StopLearning,
): Promise<ChangedPermissions> {
  const { id } = core.workloads.require(name);
  const restarted = await changeNetwork(core, name, (runConfig) => {
    requireLearned(runConfig);
    if (network !== undefined) requireProposed(network, proposalFor(core, { id, runConfig }, {}));
    const { learning: _, learned: _ended, ...before } = runConfig;
    const learned = network === undefined ? before : withLearned(runConfig, network);
    return mounts === undefined ? learned : withKept(learned, mounts);
  });
  await core.mountUse.forget(id);
  return { permissions: getPermissions(core, name), restarted };
}

function proposalFor(
  core: GovernanceWing & SupplyWing & WorkloadsWing,
  { id, runConfig }: StoredRunConfig,
  mountUse: MountUses,
): LearningProposal {
  const { name } = runConfig;
  const { learning: _, ...others } = runConfig;
  return proposalOf(others, {
    ...requireLearned(runConfig),
    decisions: core.decisions.list(id),
    entry: entryOf(core.registry.current, runConfig.image),
    limits: core.workloads.require(name).limits,
    mountUse,
  });
}

/** The learning mode of a workload, or the one that has ended by its time. */
function requireLearned({ name, learning, learned }: RunConfig): LearningMode {
  const mode = learning ?? learned;
  if (mode !== undefined) return mode;
  throw conflict(
    `${name} is not in learning mode`,
    advice(`start learning mode: thv learn ${name}`, fixes.startLearning(name)),
  );
}
