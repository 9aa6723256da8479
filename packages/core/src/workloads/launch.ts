import { isLoopback } from '@toolhive/contract/loopback';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { ToolRules } from '@toolhive/proxy/tool-view';
import type { Mount, PinnedMount } from '@toolhive/runtime/mount-source';
import type { Launch, ResourceLimits, RuntimeLimit } from '@toolhive/runtime/runtime';
import { parseSource } from '@toolhive/runtime/source';
import { packageNote } from '../registry/registry.ts';
import { refuseUnenforced } from './enforcement.ts';
import { mountWarnings } from './mount-warnings.ts';
import { mountsOf } from './mounts.ts';
import { networkOf } from './network.ts';

/** What every server may use unless somebody says otherwise. */
const defaultLimits: ResourceLimits = {
  memoryBytes: 2 * 1024 ** 3,
  processes: 512,
  openFiles: 4096,
  cpus: 2,
};

/** What a runtime is told to start for a run config. */
export function launchOf(
  runConfig: RunConfig,
  mounts: readonly PinnedMount[],
  secrets: Readonly<Record<string, string>>,
  log: (chunk: Buffer) => void,
): Launch {
  refuseUnenforced(runConfig);
  const profile = runConfig.permission_profile ?? {};
  const isHttp = runConfig.transport !== 'stdio';
  const targetPort = runConfig.target_port ?? 0;
  return {
    workload: runConfig.name,
    source: parseSource(runConfig.image ?? ''),
    args: runConfig.cmd_args ?? [],
    env: {
      MCP_TRANSPORT: runConfig.transport,
      ...(isHttp ? { MCP_PORT: String(targetPort), FASTMCP_PORT: String(targetPort) } : {}),
      ...runConfig.env_vars,
    },
    secrets,
    transport: isHttp ? { kind: 'http', targetPort } : { kind: 'stdio' },
    mounts,
    network: networkOf(profile),
    limits: defaultLimits,
    labels: {
      ...runConfig.container_labels,
      'toolhive-transport': runConfig.transport,
      'toolhive-port': String(runConfig.port),
    },
    privileged: profile.privileged === true,
    log,
  };
}

/** Everything of this machine that a run config mounts. */
export function mountsOfRunConfig({ permission_profile: profile, volumes }: RunConfig): Mount[] {
  return mountsOf(profile ?? {}, volumes ?? []);
}

/** What clients see of the tools of a workload. */
export function toolsOf({ tools_filter: filter, tools_override: overrides }: RunConfig): Required<ToolRules> {
  return { filter: filter ?? [], overrides: overrides ?? {} };
}

/** What a person should know of a workload's permissions, because it is less safe than it could be. */
export function warningsOf(runConfig: RunConfig, limits: readonly RuntimeLimit[]): string[] {
  const profile = runConfig.permission_profile ?? {};
  const mounts = mountsOf(profile, runConfig.volumes ?? []);
  const isConcerned: Record<RuntimeLimit['concerns'], boolean> = {
    'every server': true,
    'servers with mounts': mounts.length > 0,
    'servers with a network': networkOf(profile).kind !== 'none',
  };
  const warnings = limits.filter(({ concerns }) => isConcerned[concerns]).map(({ text }) => text);
  const { image = '', instead_of_image: insteadOf } = runConfig;
  if (insteadOf !== undefined) warnings.unshift(packageNote(image, insteadOf));
  if (!isLoopback(runConfig.host)) {
    warnings.push(
      `WARNING: everybody who reaches ${runConfig.host} port ${runConfig.port} can use it without authentication`,
    );
  }
  if (profile.privileged === true) warnings.push('it runs privileged: nothing of its container is hardened');
  if (profile.network?.mode === 'host') {
    warnings.push(
      'it shares this machine’s network, and reaches every service that listens here, ToolHive included',
    );
  }
  const outbound = profile.network?.outbound;
  const namesHosts = (outbound?.allow_host ?? []).length > 0 || (outbound?.allow_port ?? []).length > 0;
  if (networkOf(profile).kind === 'open' && namesHosts && outbound?.insecure_allow_all !== true) {
    warnings.push(
      'it reaches every host: the hosts and ports of its profile are not enforced without network isolation',
    );
  }
  warnings.push(...mountWarnings(mounts.map(({ source }) => source)));
  return [...new Set(warnings)];
}
