import type { RunConfig } from '@toolhive/contract/run-config';
import { splitSecrets } from '@toolhive/bundles/user-config';
import { publishedPortOf } from '@toolhive/contract/names';
import { resourcesOf } from '@toolhive/contract/resources';
import type { Egress } from '@toolhive/runtime/egress';
import type { Launch, LaunchNetwork, ResourceLimits } from '@toolhive/runtime/runtime';
import { parseSource, withOptions } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { withSecretValues } from '@toolhive/secrets/reference';
import { refuseUnenforced } from '../permissions/enforcement.ts';
import { networkOf } from '../permissions/network.ts';
import type { NetworkGrant } from '../permissions/network.ts';

/** The size of directories in memory, unless the user asked for a limit on files. */
const TEMPORARY_BYTES = 256 * 1024 ** 2;

/** What a runtime lets the server of a run config use. Throws `invalid`. */
function limitsOf({ resources }: RunConfig): ResourceLimits {
  const { memory, cpus, pids, disk, open_files } = resourcesOf(resources);
  return {
    memoryBytes: memory,
    cpus,
    processes: pids,
    openFiles: open_files,
    diskBytes: disk,
    // Files in memory count as memory, except where the runtime can only watch that.
    temporaryBytes: resources?.disk === undefined ? TEMPORARY_BYTES : Math.min(disk, memory),
  };
}

/** What a run config runs, with the options of its installation. */
export function packageSourceOf({
  image = '',
  python_with,
  python_version,
  python_exclude_newer,
  python_prerelease,
  allow_scripts,
}: RunConfig): ServerSource {
  return withOptions(parseSource(image), {
    ...(python_with?.length ? { with: python_with } : {}),
    ...(python_version ? { python: python_version } : {}),
    ...(python_exclude_newer ? { excludeNewer: python_exclude_newer } : {}),
    ...(python_prerelease === undefined ? {} : { prerelease: python_prerelease }),
    ...(allow_scripts?.length ? { allowScripts: allow_scripts } : {}),
  });
}

export interface LaunchParts extends Pick<Launch, 'mounts' | 'secrets' | 'log'> {
  /** Governs the network access of a server with rules. */
  egress: Egress;
}

/** A run config's launch for a runtime. */
export function launchOf(runConfig: RunConfig, { mounts, secrets, egress, log }: LaunchParts): Launch {
  refuseUnenforced(runConfig);
  const profile = runConfig.permission_profile ?? {};
  const isHttp = runConfig.transport !== 'stdio';
  const targetPort = runConfig.target_port ?? 0;
  const { variables, values } = splitSecrets(secrets);
  return {
    workload: runConfig.name,
    source: packageSourceOf(runConfig),
    args: (runConfig.cmd_args ?? []).map((arg) => withSecretValues(arg, secrets)),
    env: {
      MCP_TRANSPORT: runConfig.transport,
      ...(isHttp ? { MCP_PORT: String(targetPort), FASTMCP_PORT: String(targetPort) } : {}),
      ...runConfig.env_vars,
    },
    secrets: variables,
    userConfig: { ...runConfig.user_config, ...values },
    published: (runConfig.publish ?? []).map(publishedPortOf),
    transport: isHttp ? { kind: 'http', targetPort } : { kind: 'stdio' },
    mounts,
    hidden: [],
    refusesChangedCode: runConfig.tool_pinning === 'block',
    home: runConfig.ephemeral === true ? 'ephemeral' : 'persistent',
    network: launchNetwork(networkOf(runConfig), egress),
    limits: limitsOf(runConfig),
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
  return grant.kind === 'rules' ? { kind: 'rules', egress } : grant;
}
