import type { Workload, WorkloadAccess } from '@toolhive/contract/workload';
import type { RuntimeLimit } from '@toolhive/runtime/runtime';
import type { RunConfig } from '@toolhive/contract/run-config';
import { toolView } from '@toolhive/proxy/tool-filter';
import type { ToolCosts } from '../capabilities/listings.ts';
import type { KnownUpdates } from '@toolhive/state/known-updates';
import { permissionsOf } from '../network/permissions.ts';
import { isRemote, packageOf } from '../run-config/kinds.ts';
import { toolsOf } from '../supervision/open-proxy.ts';
import type { Supervisor } from '../supervision/supervisor.ts';

/** What a list shows of a workload besides its status. Cheap, because a list can have a thousand workloads. */
export function listedParts(
  supervisor: Supervisor,
  { costs, updates }: { costs: ToolCosts | undefined; updates: KnownUpdates },
): Pick<Workload, 'access' | 'tool_tokens' | 'newer_version'> {
  const { id, runConfig, limits } = supervisor;
  const newer = updates.newerThan(id, packageOf(runConfig));
  try {
    return {
      ...(isRemote(runConfig) ? {} : { access: accessOf(runConfig, limits) }),
      ...(costs === undefined ? {} : { tool_tokens: tokensOf(runConfig, costs) }),
      ...(newer === undefined ? {} : { newer_version: newer }),
    };
  } catch {
    return {}; // an invalid run config must not hide the other workloads, and its own status says why
  }
}

function accessOf(runConfig: RunConfig, limits: readonly RuntimeLimit[]): WorkloadAccess {
  const { mounts, privileged, network } = permissionsOf(runConfig, { warnings: [], limits });
  const isWritable = privileged || mounts.some(({ read_only: isReadOnly }) => !isReadOnly);
  return {
    files: isWritable ? 'write' : mounts.length > 0 ? 'read' : 'none',
    ...networkOf(network),
    secrets: runConfig.secrets?.length ?? 0,
  };
}

function networkOf({
  kind,
  hosts,
  enforced,
}: ReturnType<typeof permissionsOf>['network']): Pick<WorkloadAccess, 'network' | 'hosts'> {
  if (!enforced || kind === 'open' || kind === 'mode') return { network: 'any' };
  if (kind === 'none') return { network: 'none' };
  return hosts === undefined ? { network: 'public' } : { network: 'hosts', hosts: hosts.length };
}

function tokensOf(runConfig: RunConfig, costs: ToolCosts): number {
  const view = toolView(toolsOf(runConfig));
  return Object.entries(costs).reduce(
    (sum, [name, tokens]) => (view({ name }).isShown ? sum + tokens : sum),
    0,
  );
}
