import type { RunConfig } from '@toolhive/contract/run-config';
import type { Egress } from '@toolhive/runtime/egress';
import type { Launch, LaunchNetwork, ResourceLimits } from '@toolhive/runtime/runtime';
import { parseSource, withOptions } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { refuseUnenforced } from '../permissions/enforcement.ts';
import { networkOf } from '../permissions/network.ts';
import type { NetworkGrant } from '../permissions/network.ts';

/** What every server may use unless somebody says otherwise. */
const defaultLimits: ResourceLimits = {
  memoryBytes: 2 * 1024 ** 3,
  processes: 512,
  openFiles: 4096,
  cpus: 2,
};

/** What a run config runs, with the options of its installation. */
export function packageSourceOf({
  image = '',
  python_with,
  python_version,
  allow_scripts,
}: RunConfig): ServerSource {
  return withOptions(parseSource(image), {
    ...(python_with?.length ? { with: python_with } : {}),
    ...(python_version ? { python: python_version } : {}),
    ...(allow_scripts?.length ? { allowScripts: allow_scripts } : {}),
  });
}

export interface LaunchParts extends Pick<Launch, 'mounts' | 'secrets' | 'log'> {
  /** Governs the network access of a server with rules. */
  egress: Egress;
}

/** What a runtime is told to start for a run config. */
export function launchOf(runConfig: RunConfig, { mounts, secrets, egress, log }: LaunchParts): Launch {
  refuseUnenforced(runConfig);
  const profile = runConfig.permission_profile ?? {};
  const isHttp = runConfig.transport !== 'stdio';
  const targetPort = runConfig.target_port ?? 0;
  return {
    workload: runConfig.name,
    source: packageSourceOf(runConfig),
    args: runConfig.cmd_args ?? [],
    env: {
      MCP_TRANSPORT: runConfig.transport,
      ...(isHttp ? { MCP_PORT: String(targetPort), FASTMCP_PORT: String(targetPort) } : {}),
      ...runConfig.env_vars,
    },
    secrets,
    transport: isHttp ? { kind: 'http', targetPort } : { kind: 'stdio' },
    mounts,
    home: runConfig.ephemeral === true ? 'ephemeral' : 'persistent',
    network: launchNetwork(networkOf(runConfig), egress),
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

function launchNetwork(grant: NetworkGrant, egress: Egress): LaunchNetwork {
  return grant.kind === 'rules' ? { kind: 'rules', egress, isRequired: grant.isRequired } : grant;
}
