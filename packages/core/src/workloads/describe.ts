import { headerForwardOf } from '@toolhive/contract/header-forward';
import { resourcesOf } from '@toolhive/contract/resources';
import { sessionsOf } from '@toolhive/contract/run-config';
import type { RunConfig } from '@toolhive/contract/run-config';
import { formatSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import type { Workload, WorkloadDetails } from '@toolhive/contract/workload';
import { defaultGroup } from '@toolhive/contract/names';
import { isYoung } from '@toolhive/registry/package-age';
import { requestedOidc } from '@toolhive/access/oidc-config';
import type { Core } from '../core.ts';
import type { StateWing } from '../wings/state.ts';
import type { GovernanceWing } from '../wings/governance.ts';
import type { SupplyWing } from '../wings/supply.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { SetAside } from '@toolhive/state/run-configs';
import { parseReference } from '@toolhive/secrets/reference';
import { isIsolated } from '../permissions/network.ts';
import { isLocal, isRemote, packageOf, proxyModeOf, urlOf } from '../run-config/kinds.ts';
import { limitsOf, warningsOf } from '../permissions/warnings.ts';
import { listedParts } from './listed.ts';
import { revisionOf } from './revision.ts';
import { describeSignIn } from './sign-in.ts';
import { authzText, requestedExchange } from './creation/access-settings.ts';
import { describeHome } from './homes.ts';
import { packageSourceOf } from '../supervision/launch.ts';
import { toolsOf } from '../supervision/open-proxy.ts';
import { pinningModeOf } from '../pins/mode.ts';
import type { Supervisor } from '../supervision/supervisor.ts';

/** Workloads by name: running ones or all, in one group or in every group. */
export function listWorkloads(
  core: GovernanceWing & WorkloadsWing,
  { all, group }: { all?: boolean | undefined; group?: string | undefined },
): Workload[] {
  const costs = core.listings.costs();
  const workloads = [
    ...core.workloads.all().map((supervisor): Workload => ({
      ...describe(core, supervisor),
      ...listedParts(supervisor, { costs: costs.get(supervisor.id), updates: core.knownUpdates }),
    })),
    ...core.workloads.setAside.map(describeSetAside),
  ];
  if (group !== undefined) core.groups.require(group);
  // Every list shows the files that were set aside, because users would not look for them.
  return workloads.filter(
    (workload) =>
      (group === undefined || workload.group === group) &&
      (all === true || workload.status === 'running' || workload.package === ''),
  );
}

/** A workload with its requested settings. */
export async function getWorkload(core: Core, name: string): Promise<WorkloadDetails> {
  const supervisor = core.workloads.require(name);
  const { runConfig, limits } = supervisor;
  const home = await describeHome(core, runConfig);
  const { url, tools, ...described } = describe(core, supervisor);
  const source = sourceOf(runConfig);
  return {
    ...described,
    warnings: [...(described.warnings ?? []), ...packageWarnings(core, source)],
    ...(tools?.length ? { tools } : {}),
    ...(isRemote(runConfig) ? remotePartsOf(runConfig) : {}),
    proxy_url: url,
    revision: revisionOf(runConfig),
    ...describedPackage(core, source),
    image: runConfig.built_in ?? runConfig.image ?? '',
    host: runConfig.host,
    cmd_arguments: runConfig.cmd_args ?? [],
    target_port: runConfig.target_port ?? 0,
    proxy_port: runConfig.port,
    env_vars: runConfig.env_vars ?? {},
    secrets: (runConfig.secrets ?? []).map(parseReference),
    volumes: runConfig.volumes ?? [],
    ...(Object.keys(runConfig.user_config ?? {}).length === 0 ? {} : { user_config: runConfig.user_config }),
    ...(home === undefined ? {} : { home }),
    ...(runConfig.python_with?.length ? { python_with: runConfig.python_with } : {}),
    ...(runConfig.python_version ? { python_version: runConfig.python_version } : {}),
    ...(runConfig.python_exclude_newer ? { python_exclude_newer: runConfig.python_exclude_newer } : {}),
    ...(runConfig.python_prerelease === undefined ? {} : { python_prerelease: runConfig.python_prerelease }),
    ...(runConfig.allow_scripts?.length ? { allow_scripts: runConfig.allow_scripts } : {}),
    ...(runConfig.image_verification === undefined
      ? {}
      : { image_verification: runConfig.image_verification }),
    ...(runConfig.ephemeral === true ? { ephemeral: true } : {}),
    sessions: sessionsOf(runConfig),
    tools_override: toolsOf(runConfig).overrides,
    ...(runConfig.tool_pinning === undefined ? {} : { tool_pinning: runConfig.tool_pinning }),
    transport: runConfig.transport,
    authz_config: authzText(runConfig),
    ...describedAccess(runConfig),
    ...(runConfig.ignore_config ? { ignore_config: runConfig.ignore_config } : {}),
    ...(runConfig.telemetry_config ? { telemetry_config: runConfig.telemetry_config } : {}),
    ...(runConfig.k8s_pod_template_patch ? { k8s_pod_template_patch: runConfig.k8s_pod_template_patch } : {}),
    ...(runConfig.insecure_no_auth === true ? { insecure_no_auth: true } : {}),
    ...(runConfig.audit_config ? { audit_config: runConfig.audit_config } : {}),
    permission_profile: runConfig.permission_profile ?? {},
    ...(runConfig.local_ports?.length ? { local_ports: runConfig.local_ports } : {}),
    ...(runConfig.publish?.length ? { publish: runConfig.publish } : {}),
    network_isolation: isIsolated(runConfig, limits),
    ...(runConfig.learning === undefined ? {} : { learn: true }),
    ...(runConfig.allowed_origins?.length ? { allowed_origins: runConfig.allowed_origins } : {}),
    trust_proxy_headers: runConfig.trust_proxy_headers ?? false,
  };
}

/** What a run config runs on this machine. */
function sourceOf(runConfig: RunConfig): ServerSource | undefined {
  if (!isLocal(runConfig)) return undefined;
  try {
    return packageSourceOf(runConfig);
  } catch {
    return undefined; // the workload cannot start, and its status says why
  }
}

/** What is known of the installed package. */
function describedPackage(
  { packages }: SupplyWing,
  source: ServerSource | undefined,
): Pick<WorkloadDetails, 'integrity' | 'published_at' | 'provenance'> {
  const record = source === undefined ? undefined : packages.find(source);
  if (record === undefined) return {};
  const { integrity, publishedAt, provenance } = record;
  return {
    integrity,
    ...(publishedAt === undefined ? {} : { published_at: publishedAt }),
    ...(provenance === undefined ? {} : { provenance }),
  };
}

/** What the user should know of the installed package. */
function packageWarnings(
  { packages, settings }: StateWing & SupplyWing,
  source: ServerSource | undefined,
): string[] {
  if (source === undefined) return [];
  const publishedAt = packages.find(source)?.publishedAt;
  return [
    ...packages.warningsOf(source),
    ...(isYoung(settings.current, publishedAt)
      ? [
          `WARNING: ${formatSource(source)} was published very recently, at ${publishedAt}. Malicious versions are often found within a day`,
        ]
      : []),
  ];
}

/** Who may call, without the secrets themselves. */
function describedAccess(runConfig: RunConfig): Pick<WorkloadDetails, 'oidc' | 'token_exchange'> {
  const [oidc, token_exchange] = [requestedOidc(runConfig), requestedExchange(runConfig)];
  return { ...(oidc ? { oidc } : {}), ...(token_exchange ? { token_exchange } : {}) };
}

/** A remote server's URL and its sign-in settings. */
function remotePartsOf({
  remote_url: url,
  remote_auth_config: auth,
}: RunConfig): Pick<WorkloadDetails, 'url' | 'oauth_config' | 'headers' | 'header_forward'> {
  const { headers, client_secret: secret, bearer_token: token, timeout, ...oauth } = auth ?? {};
  return {
    url,
    oauth_config: {
      ...oauth,
      ...(secret ? { client_secret: parseReference(secret) } : {}),
      ...(token ? { bearer_token: parseReference(token) } : {}),
      // The original writes nanoseconds.
      ...(timeout === undefined
        ? {}
        : { timeout: typeof timeout === 'number' ? `${timeout / 1e6}ms` : timeout }),
    },
    headers: headers ?? [],
    header_forward: headerForwardOf(headers ?? []),
  };
}

function describe(core: GovernanceWing, supervisor: Supervisor): Workload {
  const { runConfig, condition, limits, protocol, requiredSignIn, live } = supervisor;
  const processes = isLocal(runConfig) ? live.proxy?.sharing : undefined;
  return {
    name: runConfig.name,
    package: packageOf(runConfig),
    url: urlOf(runConfig),
    port: runConfig.port,
    tool_type: 'mcp',
    transport_type: runConfig.transport,
    proxy_mode: proxyModeOf(runConfig),
    status: condition.status,
    ...(condition.context === undefined ? {} : { status_context: condition.context }),
    created_at: condition.createdAt,
    labels: runConfig.container_labels ?? {},
    group: runConfig.group ?? defaultGroup,
    tools: runConfig.tools_filter ?? [],
    remote: isRemote(runConfig),
    ...(requiredSignIn === undefined ? {} : { sign_in: describeSignIn(requiredSignIn) }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(processes === undefined ? {} : { session_processes: processes }),
    ...(runConfig.runtime === undefined ? {} : { runtime: runConfig.runtime }),
    ...(!isLocal(runConfig) ? {} : { resources: resourcesOf(runConfig.resources) }),
    warnings: [
      ...warningsOf(runConfig, limits),
      ...pinWarnings(core, supervisor),
      ...policyWarnings(core, supervisor),
    ],
    limits: limitsOf(runConfig, limits),
  };
}

function pinWarnings({ pins }: GovernanceWing, { id, runConfig }: Supervisor): string[] {
  const pending = pinningModeOf(runConfig) === 'off' ? 0 : pins.pendingOf(id);
  if (pending === 0) return [];
  const what =
    pending === 1 ? '1 tool, prompt, or resource has' : `${pending} tools, prompts, or resources have`;
  return [
    `WARNING: ${what} changed since you approved the server. To review: thv pin show ${runConfig.name}`,
  ];
}

function policyWarnings({ doubts }: GovernanceWing, { id }: Supervisor): string[] {
  return doubts.of(id).map((doubt) => `WARNING: mistake in the authorization policies, ${doubt}`);
}

function describeSetAside({ name, path, why }: SetAside): Workload {
  return {
    name,
    package: '',
    url: '',
    port: 0,
    tool_type: 'mcp',
    transport_type: 'stdio',
    proxy_mode: 'streamable-http',
    status: 'error',
    status_context: `its run config could not be read (${why}) and was set aside as ${path}. Fix and rename the file, or remove it with thv rm`,
    created_at: new Date(0).toISOString(),
    group: defaultGroup,
    remote: false,
  };
}
