import { isDeepStrictEqual } from 'node:util';
import { unsupported } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import { stringify } from 'yaml';
import { parseReference } from '@toolhive/secrets/reference';
import { isRemote } from '../run-config/kinds.ts';
import { mountsOf } from '../permissions/mounts.ts';
import { readPodTemplate } from './creation/pod-template.ts';

/** Kubernetes manifests as a YAML stream, and the remaining steps for the user. */
export interface Manifest {
  manifest: string;
  warnings: string[];
}

/**
 * Converts a run config to manifests that `kubectl apply` accepts unchanged: an MCPServer, or an MCPRemoteProxy for a
 * remote server, before the objects that it references (MCPGroup, ConfigMap, MCPToolConfig), because programs that read
 * one object read the first. The operator waits for missing objects. Omits settings that a manifest cannot express, on the
 * safe side, with a warning. Secrets remain references.
 */
export function manifestOf(runConfig: RunConfig): Manifest {
  if (runConfig.built_in !== undefined) {
    throw unsupported(`${runConfig.name} is part of ToolHive and cannot be exported for Kubernetes`, {
      hint: 'use --format json',
    });
  }
  if (runConfig.image?.startsWith('mcpb://') === true) {
    throw unsupported(`${runConfig.name} runs a bundle, which cannot run in a container`, {
      hint: 'use --format json, or publish the server as an image',
    });
  }
  const name = resourceName(runConfig.name);
  const parts = isRemote(runConfig) ? remoteParts(runConfig, name) : localParts(runConfig, name);
  return {
    manifest: parts.objects.map((each) => stringify(each, { lineWidth: 0 })).join('---\n'),
    warnings: [...parts.warnings, ...commonWarnings(runConfig)]
      .filter(([concerns]) => concerns)
      .map(([, text]) => text),
  };
}

/** The server and the objects that it references, and conditions with the warnings that they cause. */
interface Parts {
  objects: object[];
  warnings: [boolean, string][];
}

const apiVersion = 'toolhive.stacklok.dev/v1alpha1';
/** The Service names `mcp-NAME-remote-proxy` and `mcp-NAME-headless` have at most 63 characters. */
const maxNameLength = 46;

/** A DNS label (RFC 1123). */
function resourceName(name: string): string {
  const spelled = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+/g, '')
    .slice(0, maxNameLength);
  return spelled.replaceAll(/-+$/g, '') || 'workload';
}

function metadataOf(runConfig: RunConfig, name: string): object {
  const labels = Object.fromEntries(Object.entries(runConfig.container_labels ?? {}).filter(isLabel));
  return { name, ...(Object.keys(labels).length > 0 ? { labels } : {}) };
}

/** Whether Kubernetes accepts a label. */
function isLabel([key, value]: [string, string]): boolean {
  return (
    /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(key) &&
    /^(?:[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?)?$/.test(value)
  );
}

function localParts(runConfig: RunConfig, name: string): Parts {
  const { image = '', transport, proxy_mode: mode, target_port: targetPort, secrets } = runConfig;
  const profile = runConfig.permission_profile ?? {};
  const group = groupOf(runConfig);
  const permissions = permissionsOf(profile, name);
  const tools = hasOverrides(runConfig) ? toolConfigOf(runConfig, name) : undefined;
  const volumes = mountsOf(profile, runConfig.volumes ?? []);
  const keys = (secrets ?? []).map((reference) => secretKey(parseReference(reference).name));
  const spec = {
    image,
    transport,
    proxyMode: transport === 'stdio' ? mode : undefined,
    port: runConfig.port,
    targetPort: transport === 'stdio' ? undefined : targetPort,
    args: runConfig.cmd_args,
    env: Object.entries(runConfig.env_vars ?? {}).map(([key, value]) => ({ name: key, value })),
    secrets: (secrets ?? []).map(parseReference).map((reference) => ({
      name,
      key: secretKey(reference.name),
      targetEnvName: reference.target,
    })),
    volumes: volumes.map(({ source, target, readOnly }, index) => ({
      name: `volume-${index}`,
      hostPath: source,
      mountPath: target,
      readOnly,
    })),
    permissionProfile: permissions.reference,
    groupRef: group?.metadata.name,
    tools: tools === undefined ? runConfig.tools_filter : undefined,
    toolConfigRef: tools === undefined ? undefined : { name: tools.metadata.name },
    oidcConfig: oidcOf(runConfig),
    podTemplateSpec: podTemplateOf(runConfig),
    ...proxySpecOf(runConfig),
  };
  return {
    objects: [
      { apiVersion, kind: 'MCPServer', metadata: metadataOf(runConfig, name), spec: withoutEmpty(spec) },
      ...(group === undefined ? [] : [group]),
      ...(permissions.object === undefined ? [] : [permissions.object]),
      ...(tools === undefined ? [] : [tools]),
    ],
    warnings: [
      [
        image.includes('://'),
        `${image} is not an image: build one with thv build, push it, and set its name in spec.image`,
      ],
      [keys.length > 0, `no secret is exported: create the Secret ${name} with the keys ${keys.join(', ')}`],
      [
        volumes.length > 0,
        'mounts become hostPath volumes: each node needs these paths, and the restricted Pod Security Standard refuses them',
      ],
      [profile.privileged === true, 'the privileged mode is omitted'],
      [
        ![undefined, 'none'].includes(profile.network?.mode),
        'the network mode of the container engine is omitted',
      ],
      [Boolean(runConfig.local_ports?.length), 'the ports of this machine are omitted'],
      [Boolean(runConfig.publish?.length), 'the published ports are omitted'],
    ],
  };
}

/** The patch for Kubernetes, which has no effect on this machine. */
function podTemplateOf({ k8s_pod_template_patch: patch }: RunConfig): object | undefined {
  return patch ? readPodTemplate(patch) : undefined;
}

/** A remote server, whose proxy in a cluster is reachable for others and therefore requires authentication. */
function remoteParts(runConfig: RunConfig, name: string): Parts {
  const { remote_url: remoteURL = '', transport, remote_auth_config: auth, tools_filter } = runConfig;
  const oidcConfig = oidcOf(runConfig);
  if (oidcConfig === undefined) {
    throw unsupported(
      `${runConfig.name} has no OIDC settings, which a proxy for a remote server in Kubernetes requires`,
      { hint: 'set --oidc-issuer and --oidc-audience on the workload, or use --format json' },
    );
  }
  const tools = hasOverrides(runConfig) || tools_filter?.length ? toolConfigOf(runConfig, name) : undefined;
  const spec = {
    remoteURL,
    transport: transport === 'sse' ? 'sse' : 'streamable-http',
    port: runConfig.port,
    toolConfigRef: tools === undefined ? undefined : { name: tools.metadata.name },
    oidcConfig,
    ...proxySpecOf(runConfig),
  };
  return {
    objects: [
      { apiVersion, kind: 'MCPRemoteProxy', metadata: metadataOf(runConfig, name), spec: withoutEmpty(spec) },
      ...(tools === undefined ? [] : [tools]),
    ],
    warnings: [
      [Boolean(auth?.headers?.length), 'headers for the remote server are omitted'],
      [
        Boolean(auth),
        'the sign-in at the remote server is omitted: to get tokens for the remote server, refer to an MCPExternalAuthConfig in spec.externalAuthConfigRef',
      ],
      [groupOf(runConfig) !== undefined, 'the group is omitted: an MCPRemoteProxy has no group'],
    ],
  };
}

/** The fields that both kinds have. */
function proxySpecOf(runConfig: RunConfig): Record<string, unknown> {
  return {
    trustProxyHeaders: runConfig.trust_proxy_headers === true ? true : undefined,
    authzConfig: authorizationOf(runConfig),
    audit: runConfig.audit_config ? { enabled: true } : undefined,
    telemetry: telemetryOf(runConfig),
  };
}

interface NamedObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

function groupOf({ group }: RunConfig): NamedObject | undefined {
  if (!group || group === defaultGroup) return undefined;
  return { apiVersion, kind: 'MCPGroup', metadata: { name: resourceName(group) } };
}

function hasOverrides({ tools_override: overrides }: RunConfig): boolean {
  return Object.keys(overrides ?? {}).length > 0;
}

function toolConfigOf(
  { tools_filter: filter, tools_override: overrides }: RunConfig,
  name: string,
): NamedObject {
  const spec = withoutEmpty({ toolsFilter: filter, toolsOverride: overrides });
  return { apiVersion, kind: 'MCPToolConfig', metadata: { name: `${name}-tools` }, spec } as NamedObject;
}

const profileKey = 'profile.json';

/** A built-in profile by its name, or a ConfigMap with the network rules. Mounts have a separate field in a manifest. */
function permissionsOf(
  profile: PermissionProfile,
  name: string,
): { reference: object; object?: NamedObject } {
  const builtIn = builtInName(profile);
  if (builtIn !== undefined) return { reference: { type: 'builtin', name: builtIn } };
  const { outbound, inbound } = profile.network ?? {};
  const rules = { network: { outbound: outbound ?? {}, ...(inbound === undefined ? {} : { inbound }) } };
  const configMap = `${name}-permissions`;
  return {
    reference: { type: 'configmap', name: configMap, key: profileKey },
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: configMap },
      data: { [profileKey]: `${JSON.stringify(rules, null, 2)}\n` },
    } as NamedObject,
  };
}

/** What a key of a Secret may be made of. */
function secretKey(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, '-');
}

/** The built-in profile with the same network access. Mounts have a separate field in a manifest. */
function builtInName({ network, privileged }: PermissionProfile): string | undefined {
  if (privileged === true) return undefined;
  if (network?.mode === 'none') return 'none';
  const outbound = network?.outbound;
  const isPlain = network?.mode === undefined && network?.inbound === undefined;
  return Object.entries(builtInProfiles).find(
    ([, profile]) => isPlain && isDeepStrictEqual(profile.network.outbound, outbound ?? {}),
  )?.[0];
}

function oidcOf({ oidc_config: oidc }: RunConfig): object | undefined {
  if (!oidc?.issuer) return undefined;
  const inline = withoutEmpty({
    issuer: oidc.issuer,
    audience: oidc.audience,
    clientId: oidc.clientID,
    jwksUrl: oidc.jwksurl,
    introspectionUrl: oidc.introspectionURL,
    jwksAllowPrivateIP: oidc.allowPrivateIP,
    insecureAllowHTTP: oidc.insecureAllowHTTP,
  });
  return withoutEmpty({ type: 'inline', resourceUrl: oidc.resourceURL, inline });
}

function authorizationOf({ authz_config: authorization }: RunConfig): object | undefined {
  const { policies, entities_json: entitiesJson } = authorization?.cedar ?? {};
  if (!policies?.length) return undefined;
  return { type: 'inline', inline: withoutEmpty({ policies, entitiesJson }) };
}

function telemetryOf({ telemetry_config: telemetry }: RunConfig): object | undefined {
  if (!telemetry) return undefined;
  const { endpoint, tracingEnabled, metricsEnabled, samplingRate } = telemetry;
  return withoutEmpty({
    openTelemetry: endpoint
      ? withoutEmpty({
          enabled: true,
          endpoint,
          insecure: telemetry.insecure,
          serviceName: telemetry.serviceName,
          tracing: {
            enabled: tracingEnabled ?? true,
            ...(samplingRate === undefined ? {} : { samplingRate: String(samplingRate) }),
          },
          metrics: { enabled: metricsEnabled ?? true },
        })
      : undefined,
    prometheus: telemetry.enablePrometheusMetricsPath === true ? { enabled: true } : undefined,
  });
}

function commonWarnings(runConfig: RunConfig): [boolean, string][] {
  const { container_labels: labels, oidc_config: oidc, telemetry_config: telemetry } = runConfig;
  const refused = Object.entries(labels ?? {}).filter((label) => !isLabel(label));
  return [
    [
      refused.length > 0,
      `labels that Kubernetes does not accept are omitted: ${refused.map(([key]) => key).join(', ')}`,
    ],
    [Boolean(oidc?.clientSecret), 'the OIDC client secret is omitted'],
    [Boolean(runConfig.authz_config_path), 'the policies in a file are omitted'],
    [Object.keys(telemetry?.headers ?? {}).length > 0, 'telemetry headers are omitted'],
    [Boolean(runConfig.allowed_origins?.length), 'the allowed origins of web pages are omitted'],
  ];
}

function withoutEmpty(spec: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => {
      if (value === undefined || value === null || value === '') return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  );
}
