import { isDeepStrictEqual } from 'node:util';
import { unsupported } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import { builtInProfiles } from '@toolhive/contract/permission-profile';
import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import type { RunConfig } from '@toolhive/contract/run-config';
import { stringify } from 'yaml';
import { parseReference } from '../secrets/reference.ts';
import { isRemote } from './describe.ts';
import { mountsOf } from '../permissions/mounts.ts';

/** A Kubernetes manifest, and the remaining steps for the user. */
export interface Manifest {
  manifest: string;
  warnings: string[];
}

/**
 * Converts a run config to an MCPServer for the operator. Omits settings that a manifest cannot express, on the safe
 * side, with a warning.
 */
export function manifestOf(runConfig: RunConfig): Manifest {
  if (isRemote(runConfig)) {
    throw unsupported(`${runConfig.name} is a remote server, and those cannot be exported for Kubernetes`, {
      hint: 'use --format json',
    });
  }
  if (runConfig.built_in !== undefined) {
    throw unsupported(`${runConfig.name} is a part of ToolHive and cannot be exported for Kubernetes`, {
      hint: 'use --format json',
    });
  }
  const name = resourceName(runConfig.name);
  const labels = runConfig.container_labels ?? {};
  const resource = {
    apiVersion: 'toolhive.stacklok.dev/v1alpha1',
    kind: 'MCPServer',
    metadata: { name, ...(Object.keys(labels).length > 0 ? { labels } : {}) },
    spec: withoutEmpty(specOf(runConfig, name)),
  };
  return { manifest: stringify(resource, { lineWidth: 0 }), warnings: warningsFor(runConfig, name) };
}

/** A DNS subdomain (RFC 1123), as Kubernetes wants its names. */
function resourceName(name: string): string {
  const spelled = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 253);
  return spelled.replaceAll(/^-+|-+$/g, '') || 'workload';
}

function specOf(runConfig: RunConfig, name: string): Record<string, unknown> {
  const { image, transport, proxy_mode: mode, target_port: targetPort, group } = runConfig;
  const profile = runConfig.permission_profile ?? {};
  return {
    image,
    transport,
    proxyMode: transport === 'stdio' ? mode : undefined,
    port: runConfig.port,
    targetPort: transport === 'stdio' ? undefined : targetPort,
    args: runConfig.cmd_args,
    env: Object.entries(runConfig.env_vars ?? {}).map(([key, value]) => ({ name: key, value })),
    secrets: (runConfig.secrets ?? []).map(parseReference).map((reference) => ({
      name,
      key: secretKey(reference.name),
      targetEnvName: reference.target,
    })),
    volumes: mountsOf(profile, runConfig.volumes ?? []).map(({ source, target, readOnly }, index) => ({
      name: `volume-${index}`,
      hostPath: source,
      mountPath: target,
      readOnly,
    })),
    permissionProfile: { type: 'builtin', name: builtInName(profile) ?? 'none' },
    groupRef: group === defaultGroup ? undefined : group,
    tools: runConfig.tools_filter,
    trustProxyHeaders: runConfig.trust_proxy_headers === true ? true : undefined,
    oidcConfig: oidcOf(runConfig),
    authzConfig: authorizationOf(runConfig),
    audit: runConfig.audit_config ? { enabled: true } : undefined,
    telemetry: telemetryOf(runConfig),
  };
}

/** What a key of a Secret may be made of. */
function secretKey(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, '-');
}

/** The built-in profile with the same network access. Mounts have a separate field in a manifest. */
function builtInName({ network, privileged }: PermissionProfile): string | undefined {
  if (privileged === true) return undefined;
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

function warningsFor(runConfig: RunConfig, name: string): string[] {
  const { image = '', secrets, tools_override: overrides, group, permission_profile: profile } = runConfig;
  const keys = (secrets ?? []).map((reference) => secretKey(parseReference(reference).name));
  const warnings: [boolean, string][] = [
    [
      image.includes('://'),
      `${image} is not an image: build one with thv build, push it, and set its name in spec.image`,
    ],
    [keys.length > 0, `no secret is exported: create the Secret ${name} with the keys ${keys.join(', ')}`],
    [
      builtInName(profile ?? {}) === undefined,
      'the operator does not know its permission profile, so the server gets none: create a ConfigMap with the profile and name it in spec.permissionProfile',
    ],
    [
      Object.keys(overrides ?? {}).length > 0,
      'other names of tools are left out: put them into an MCPToolConfig and name that in spec.toolConfigRef',
    ],
    [
      group !== undefined && group !== defaultGroup,
      `create the MCPGroup ${group}, because the server belongs to it`,
    ],
    [Boolean(runConfig.oidc_config?.clientSecret), 'the secret of the OIDC client is left out'],
    [Boolean(runConfig.authz_config_path), 'the policies in a file are left out'],
    [Object.keys(runConfig.telemetry_config?.headers ?? {}).length > 0, 'headers for telemetry are left out'],
  ];
  return warnings.filter(([concerns]) => concerns).map(([, text]) => text);
}

function withoutEmpty(spec: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).filter(([, value]) => {
      if (value === undefined || value === null || value === '') return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  );
}
