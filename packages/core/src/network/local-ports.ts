import { conflict, invalidField } from '@toolhive/contract/failure';
import type { PermissionChange } from '@toolhive/contract/network';
import type { RunConfig } from '@toolhive/contract/run-config';
import { OwnPorts } from '@toolhive/runtime/own-ports';
import { dangersOf, requireConsent } from '../permissions/consent.ts';
import { grantedNetworkOf } from '../permissions/network.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import { isLocal } from '../run-config/kinds.ts';

const field = '/local_ports';

/**
 * Throws `invalid` for local ports that a server cannot or must not reach. Ports move, so the gateway asks about
 * each connection again.
 */
export async function checkLocalPorts(
  { workloads }: Pick<WorkloadsWing, 'workloads'>,
  runConfig: RunConfig,
): Promise<void> {
  const { local_ports: ports, target_port: own, transport } = runConfig;
  if (!ports?.length) return;
  requireRules(runConfig);
  for (const port of ports) {
    if (transport !== 'stdio' && port === own) {
      throw invalidField(field, `the server itself listens on port ${port}`, {
        hint: 'let the server listen on another port (--target-port), or omit the local port',
      });
    }
    const isProxy = runConfig.port === port || workloads.all().some((other) => other.runConfig.port === port);
    // Where the system does not tell, the gateway refuses the connections.
    const isOwn = isProxy || (await new OwnPorts().has(port).catch(() => false));
    if (isOwn)
      throw invalidField(field, `port ${port} of this machine belongs to ToolHive`, { hint: 'omit it' });
  }
}

/** Only a network with a gateway leads to local ports. */
function requireRules(runConfig: RunConfig): void {
  if (!isLocal(runConfig)) {
    throw invalidField(field, 'only a server that runs in isolation on this machine can have local ports', {
      hint: 'omit local_ports (--allow-local-port)',
    });
  }
  const { kind } = grantedNetworkOf(runConfig);
  if (kind === 'mode') {
    const { mode } = runConfig.permission_profile?.network ?? {};
    throw invalidField(field, `a server with the network mode ${mode} cannot have local ports`, {
      hint: mode === 'host' ? 'omit them, because this mode includes all ports' : 'omit the network mode',
    });
  }
  if (kind === 'open') {
    throw invalidField(field, 'a server with unlimited network access cannot have local ports', {
      hint: 'use the permission profile public, or one that lists hosts and ports',
    });
  }
}

/** A run config with the local ports of a change. Throws `invalid` if the user has not accepted a new one. */
export function withLocalPorts(
  runConfig: RunConfig,
  {
    allow_local_ports: allowed = [],
    deny_local_ports: denied = [],
    accepted_risks: accepted = [],
  }: PermissionChange,
): RunConfig {
  const { local_ports: before, ...others } = runConfig;
  const missing = denied.find((port) => before?.includes(port) !== true);
  if (missing !== undefined) throw conflict(`port ${missing} is not a local port of ${runConfig.name}`);
  const ports = [...new Set([...(before ?? []), ...allowed])].filter((port) => !denied.includes(port));
  const after = ports.length === 0 ? others : { ...others, local_ports: ports };
  const consent = { accepted: [...accepted, 'send-secrets' as const], present: dangersOf(runConfig, []) };
  requireConsent(after, [], consent);
  return after;
}
