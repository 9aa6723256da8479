import { isDeepStrictEqual } from 'node:util';
import type {
  ChangedPermissions,
  NetworkDecision,
  NetworkDecisionMade,
  PermissionChange,
  Permissions,
} from '@toolhive/contract/network';
import type { Sent } from '@toolhive/contract/operation';
import type { RunConfig } from '@toolhive/contract/run-config';
import { alwaysListening } from '@toolhive/runtime/egress';
import { conflict } from '@toolhive/contract/failure';
import type { Core } from '../core.ts';
import { permissionsOf, withChange } from '../network/permissions.ts';
import { mountsOfRunConfig } from '../permissions/mounts.ts';
import { networkOf } from '../permissions/network.ts';
import { warningsOf } from '../permissions/warnings.ts';
import { isRemote } from './kinds.ts';

type Verdict = NetworkDecision['verdict'];

/** What the egress gateway decided about a workload, the latest first. Throws `not-found`. */
export function listNetworkDecisions(core: Core, name: string, verdict?: Verdict): NetworkDecision[] {
  return core.decisions.list(core.workloads.require(name).id, verdict);
}

/** The same from now on, until the signal aborts. */
export function watchNetworkDecisions(
  core: Core,
  name: string,
  verdict: Verdict | undefined,
  signal: AbortSignal,
): AsyncIterable<Sent<NetworkDecisionMade>> {
  return core.decisions.watch(core.workloads.require(name).id, verdict, signal);
}

/** What a workload may access. */
export function getPermissions(core: Core, name: string): Permissions {
  const { runConfig, limits } = core.workloads.require(name);
  return permissionsOf(runConfig, { warnings: warningsOf(runConfig, limits), limits });
}

/**
 * Changes a workload's outbound rules. The server keeps running, unless it needs a port on which its gateway does not
 * listen, or a network that it does not have.
 */
export async function changePermissions(
  core: Core,
  name: string,
  change: PermissionChange,
): Promise<ChangedPermissions> {
  const { id } = core.workloads.require(name);
  const restarted = await changeNetwork(core, name, (runConfig) =>
    withChange(runConfig, change, core.decisions.list(id, 'allowed')),
  );
  return { permissions: getPermissions(core, name), restarted };
}

/**
 * Changes a workload's network and mounts. Returns whether it was restarted, which is necessary only for another kind
 * of network, a new port, or other mounts. Throws `conflict` for a remote server.
 */
export async function changeNetwork(
  core: Core,
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
  return grant.rules.ports.every((port) => listening.has(port));
}
