import { checkField, invalid, invalidField } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';
import type { RunConfig } from '@toolhive/contract/run-config';
import { toolFilter } from '@toolhive/proxy/tool-filter';
import type { ToolRules } from '@toolhive/proxy/tool-filter';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { Runtime, RuntimeCapabilities } from '@toolhive/runtime/runtime';
import { neverAllowed } from '@toolhive/runtime/addresses';
import { parseSource } from '@toolhive/runtime/source';
import { isAuthenticated } from '@toolhive/access/workload-access';
import { checkAuditConfig } from '@toolhive/audit/audit-config';
import type { StateWing } from '../../wings/state.ts';
import type { GovernanceWing } from '../../wings/governance.ts';
import type { WorkloadsWing } from '../../wings/workloads.ts';
import { refuseUnenforced } from '../../permissions/enforcement.ts';
import { refuseReplaceable } from '../../permissions/granted-mounts.ts';
import { ignoreFileOf, readGlobalRules } from '../../permissions/ignore-rules.ts';
import { inboundRuleOf } from '../../permissions/inbound-hosts.ts';
import { mountsOfRunConfig, parseVolume } from '../../permissions/mounts.ts';
import { networkOf } from '../../permissions/network.ts';
import { newWorkloadId } from '@toolhive/state/workload-id';
import { launchOf } from '../../supervision/launch.ts';
import { checkTelemetry } from '../../supervision/telemetry-options.ts';
import { toolsOf } from '../../supervision/open-proxy.ts';

/** Throws for a run config that is unsafe or contradictory. Checks nothing else. */
export function checkRunConfig(runConfig: RunConfig): void {
  refuseOpenAddress(runConfig);
  refuseLocalHosts(runConfig);
  requireOverrides(toolsOf(runConfig));
  toolFilter({ tools: toolsOf(runConfig) }); // throws if two tools would have the same name
  inboundRuleOf(runConfig); // throws for a host that is none
  checkAuditConfig(runConfig);
  checkTelemetry(runConfig);
  refuseUnenforced(runConfig);
}

/**
 * Throws if this machine cannot run a local server as its run config says, or must not: for example without a secret
 * that the server needs. Returns the mounts, pinned.
 */
export async function checkLaunch(
  core: StateWing & GovernanceWing & WorkloadsWing,
  runConfig: RunConfig,
  runtime: Runtime,
): Promise<PinnedMount[]> {
  await checkVolumes(core, runConfig);
  const mounts = await core.mounts.pin(mountsOfRunConfig(runConfig));
  const secrets = await core.secretsOf(runConfig);
  const launch = launchOf(runConfig, {
    mounts,
    secrets,
    egress: core.egressOf({ id: newWorkloadId(), runConfig }, () => {}), // decides nothing
    log: () => {},
  });
  runtime.refuseImpossible?.(launch);
  if (runtime.capabilities.mountsByPath) {
    const workloads = core.workloads.all().map((other) => other.runConfig);
    await refuseReplaceable(runConfig.name, mounts, workloads);
  }
  const ignoreFile = ignoreFileOf(runConfig, core.paths);
  if (mounts.length > 0 && ignoreFile !== undefined) await readGlobalRules(ignoreFile);
  refuseUnreachable(runtime.capabilities, runConfig);
  return mounts;
}

/** Throws for a volume that cannot be mounted, with the place of the volume in the request. */
async function checkVolumes({ mounts }: WorkloadsWing, { volumes }: RunConfig): Promise<void> {
  for (const [index, volume] of (volumes ?? []).entries()) {
    await checkField(`/volumes/${index}`, () => mounts.pin([parseVolume(volume)]));
  }
}

/** Without authentication, only this machine may reach a workload unless the user wants otherwise. */
function refuseOpenAddress(runConfig: RunConfig): void {
  const { host, insecure_no_auth: isWanted } = runConfig;
  if (isLoopback(host) || isWanted === true || isAuthenticated(runConfig)) return;
  throw invalidField('/host', `anyone who can reach ${host} could use the workload without authentication`, {
    hint: 'omit host, or configure oidc (--oidc-issuer). If unauthenticated access is intended, set insecure_no_auth (--insecure-no-auth)',
  });
}

/** Throws for a server at an address that leads to no other machine. Names are checked for each connection. */
function refuseLocalHosts({ remote_url: url = '', image = '' }: RunConfig): void {
  const source = url === '' && image !== '' ? parseSource(image) : undefined;
  const registry = source?.kind === 'image' ? `https://${source.image.split('/')[0]}` : undefined;
  const { hostname = '' } = URL.parse(registry ?? url) ?? {};
  const never = neverAllowed(hostname);
  if (never === undefined) return;
  throw invalid(
    `the ${registry === undefined ? 'remote server' : 'image registry'} ${hostname} is ${never}`,
    {
      hint: 'specify a host that other machines reach',
    },
  );
}

/** A container without a network has no port to publish. */
function refuseUnreachable({ publishesPorts }: RuntimeCapabilities, runConfig: RunConfig): void {
  const { transport } = runConfig;
  if (!publishesPorts || transport === 'stdio' || networkOf(runConfig).kind !== 'none') return;
  throw invalid(`a server that speaks ${transport} cannot be reached in a container without a network`, {
    hint: 'allow a host in its permission profile, or use a server that speaks stdio',
  });
}

/** Throws for an override that changes nothing: most likely, the name of a member is wrong. */
function requireOverrides({ overrides }: Required<ToolRules>): void {
  for (const [tool, { name, description }] of Object.entries(overrides)) {
    if (name || description) continue;
    throw invalid(`the override of the tool ${tool} has neither a name nor a description`, {
      hint: 'name at least one tool, or omit the list',
    });
  }
}
